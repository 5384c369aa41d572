"""Imports over several processes: one at a time, and none lost or doubled by kill -9."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.lake.models import LakeSegment
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.finops.costs.focus_reader import as_csv
from tests.finops.costs.import_helpers import total

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[3]
RUN = "import sys, django; django.setup(); from finops.costs import services; services.run_import(int(sys.argv[1]))"
WAIT_SECONDS = 60.0


@pytest.fixture
def bills(cast: Cast) -> Iterator[CostSource]:
    row = services.create_cost_source(account=cast.account, name="Bills", actor=cast.actor)
    with account_scope(cast.account):
        yield row


def queued(cast: Cast, source: CostSource, cost: str = "1.5", rows: int = 3) -> CostImport:
    upload = SimpleUploadedFile("focus.csv", as_csv(*[{"BilledCost": cost}] * rows))
    return services.queue_import(source=source, uploads=[upload], actor=cast.actor)


def database_url() -> str:
    """The test's own database, as another process reaches it."""
    name = str(connection.settings_dict["NAME"])
    return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))


@contextmanager
def swaps_held(source: CostSource) -> Iterator[psycopg.Connection[Any]]:
    """Inside, no import into the source can finish. Gives the connection that holds it back."""
    with psycopg.connect(database_url(), autocommit=True) as holding:
        name = f"lake {source.account_id} cost {source.pk}"
        holding.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])
        yield holding


def somebody_waits(holding: psycopg.Connection[Any]) -> bool:
    row = holding.execute(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
        "WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"
    ).fetchone()
    return bool(row and row[0])


@contextmanager
def worker(job: CostImport) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs the import, killed with -9 at the end if it still runs."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
        "DATABASE_URL": database_url(),
        "VAR_DIR": str(settings.VAR_DIR),
        "LAKE_URL": settings.LAKE_URL,
    }
    process = subprocess.Popen([sys.executable, "-c", RUN, str(job.pk)], cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_an_import_killed_just_before_its_commit_is_taken_up_at_once_and_counts_once(
    cast: Cast, bills: CostSource
) -> None:
    job = queued(cast, bills)
    with swaps_held(bills) as holding, worker(job):
        until(lambda: somebody_waits(holding), "the worker did not come to its last step")
        job.refresh_from_db()
        assert (job.status, total(cast.account)) == ("running", None)
        assert services.run_import(job.pk) is False
    until(lambda: services.run_import(job.pk), "the dead worker's import was not free")
    job.refresh_from_db()
    assert (job.status, job.attempts, total(cast.account)) == ("done", 2, Decimal("4.5"))


def test_imports_killed_at_any_moment_are_finished_by_the_next_and_count_once(
    cast: Cast, bills: CostSource
) -> None:
    for cost in range(10, 13):
        killed_and_finished(queued(cast, bills, cost=str(cost), rows=20_000))
        assert total(cast.account) == 20_000 * cost
    assert LakeSegment.objects.filter(retired_at__isnull=True).count() == 1


def killed_and_finished(job: CostImport) -> None:
    with worker(job):
        until(lambda: CostImport.objects.get(pk=job.pk).status != "queued", "the worker did not begin")
    until(lambda: services.run_import(job.pk) or _is_done(job), "the dead worker's import was not free")


def _is_done(job: CostImport) -> bool:
    return CostImport.objects.get(pk=job.pk).status == "done"


def test_two_workers_at_once_do_an_import_once(cast: Cast, bills: CostSource) -> None:
    job = queued(cast, bills)
    done: list[bool] = []

    def work() -> None:
        done.append(services.run_import(job.pk))
        connection.close()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, False, True]
    assert total(cast.account) == Decimal("4.5")


def test_a_command_refuses_while_an_import_into_the_source_runs(
    cast: Cast, bills: CostSource, tmp_path: Path
) -> None:
    (tmp_path / "focus.csv").write_bytes(as_csv({"BilledCost": "9"}))
    with swaps_held(bills) as holding, worker(queued(cast, bills)) as process:
        until(lambda: somebody_waits(holding), "the worker did not come to its last step")
        with pytest.raises(UserError, match="Another import into Bills is running"):
            services.import_files(
                account=cast.account, source=bills, paths=[tmp_path / "focus.csv"], actor=cast.actor
            )
        holding.execute("SELECT pg_advisory_unlock_all()")
        process.wait(WAIT_SECONDS)
    assert total(cast.account) == Decimal("4.5")


def test_a_command_first_runs_what_was_queued_before_it(
    cast: Cast, bills: CostSource, tmp_path: Path
) -> None:
    (tmp_path / "focus.csv").write_bytes(as_csv({"BilledCost": "9"}))
    waiting = queued(cast, bills)
    services.import_files(
        account=cast.account, source=bills, paths=[tmp_path / "focus.csv"], actor=cast.actor
    )
    waiting.refresh_from_db()
    assert (waiting.status, total(cast.account)) == ("done", Decimal(9))

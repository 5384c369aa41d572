"""Imports over several processes: one at a time, and none lost or doubled by kill -9."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.lake.models import LakeSegment
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.imports import queue_import, total
from tests.finops.costs.focus_reader import as_csv
from tests.servers import database_url
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[3]
RUN = "import sys, django; django.setup(); from finops.costs import services; services.run_import(int(sys.argv[1]))"


def queue_bill(cast: Cast, source: CostSource, cost: str = "1.5", rows: int = 3) -> CostImport:
    return queue_import(cast, source, as_csv(*[{"BilledCost": cost}] * rows))


@contextmanager
def block_swaps(source: CostSource) -> Iterator[psycopg.Connection[Any]]:
    """Inside, no import into the source can finish. Gives the connection that holds it back."""
    with psycopg.connect(database_url(), autocommit=True) as lock_connection:
        name = f"lake {source.account_id} cost {source.pk}"
        lock_connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])
        yield lock_connection


def has_lock_waiter(lock_connection: psycopg.Connection[Any]) -> bool:
    row = lock_connection.execute(
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


def test_an_import_killed_just_before_its_commit_is_continued_at_once_and_counts_once(
    cast: Cast, source: CostSource
) -> None:
    job = queue_bill(cast, source)
    with block_swaps(source) as lock_connection, worker(job):
        wait_until(lambda: has_lock_waiter(lock_connection), "the worker did not come to its last step")
        job.refresh_from_db()
        assert (job.status, total(cast.account)) == ("running", None)
        assert services.run_import(job.pk) is False
    wait_until(lambda: services.run_import(job.pk), "the dead worker's import was not free")
    job.refresh_from_db()
    assert (job.status, job.attempts, total(cast.account)) == ("done", 2, Decimal("4.5"))


def test_imports_killed_at_any_moment_are_finished_by_the_next_and_count_once(
    cast: Cast, source: CostSource
) -> None:
    for cost in range(10, 13):
        kill_and_finish(queue_bill(cast, source, cost=str(cost), rows=20_000))
        assert total(cast.account) == 20_000 * cost
    assert LakeSegment.objects.filter(retired_at__isnull=True).count() == 1


def kill_and_finish(job: CostImport) -> None:
    with worker(job):
        wait_until(lambda: CostImport.objects.get(pk=job.pk).status != "queued", "the worker did not begin")
    wait_until(lambda: services.run_import(job.pk) or _is_done(job), "the dead worker's import was not free")


def _is_done(job: CostImport) -> bool:
    return CostImport.objects.get(pk=job.pk).status == "done"


def test_two_concurrent_workers_do_an_import_once(cast: Cast, source: CostSource) -> None:
    job = queue_bill(cast, source)
    done: list[bool] = []

    def run_in_thread() -> None:
        done.append(services.run_import(job.pk))
        connection.close()

    threads = [Thread(target=run_in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, False, True]
    assert total(cast.account) == Decimal("4.5")


def test_a_command_refuses_while_an_import_into_the_source_runs(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    (tmp_path / "focus.csv").write_bytes(as_csv({"BilledCost": "9"}))
    with block_swaps(source) as lock_connection, worker(queue_bill(cast, source)) as process:
        wait_until(lambda: has_lock_waiter(lock_connection), "the worker did not come to its last step")
        with pytest.raises(UserError, match="Another import into Bills is in progress"):
            services.import_files(
                account=cast.account, source=source, paths=[tmp_path / "focus.csv"], actor=cast.actor
            )
        lock_connection.execute("SELECT pg_advisory_unlock_all()")
        process.wait(PATIENCE_SECONDS)
    assert total(cast.account) == Decimal("4.5")


def test_a_command_first_runs_what_was_queued_before_it(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    (tmp_path / "focus.csv").write_bytes(as_csv({"BilledCost": "9"}))
    waiting = queue_bill(cast, source)
    services.import_files(
        account=cast.account, source=source, paths=[tmp_path / "focus.csv"], actor=cast.actor
    )
    waiting.refresh_from_db()
    assert (waiting.status, total(cast.account)) == ("done", Decimal(9))

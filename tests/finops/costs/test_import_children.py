"""Imports in child processes: what a hostile file does there is its own import's failure, and nobody else's."""

from __future__ import annotations

import io
import os
import signal
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.scoping import account_scope
from finops.costs import services, tasks
from finops.costs.models import CostImport, CostSource
from finops.costs.services import claims
from finops.lib import child_process
from finops.lib.child_process import ChildOutcome
from tests.cast import Cast
from tests.factories.imports import queue_import, total
from tests.finops.costs.focus_reader import ROW, as_csv
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
MEMORY = 700 * 2**20


def run(job: CostImport) -> CostImport:
    tasks.run_cost_import(job.account_id, job.pk)
    job.refresh_from_db()
    return job


def take_memory(count: int) -> None:
    """In a child: more and more of it, without asking for much at once."""
    chunks = []
    for _ in range(count):
        chunks.append(bytearray(b"x") * 2**20)


def take_much_memory_at_once() -> None:
    try:
        bytearray(2**33)
    except MemoryError:
        os._exit(7)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def wait_forever() -> None:
    signal.pause()


def test_an_upload_is_imported_in_a_child(cast: Cast, source: CostSource) -> None:
    job = run(queue_import(cast, source, as_csv({}, {})))
    assert (job.status, job.error, job.rows, total(cast.account)) == ("done", "", 2, Decimal(3))


def test_a_command_imports_in_a_child_too_and_tries_again_where_that_dies(
    cast: Cast, source: CostSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "focus.csv"
    path.write_bytes(as_csv({}))
    command = ("import_focus", "--account", cast.account.slug, "--source", source.name, str(path))
    with monkeypatch.context() as patched:
        endings = endings_of_children(patched, "crash")
        with pytest.raises(CommandError, match=r"ended unexpectedly three times, .* \(signal 11\)"):
            call_command(*command)
        assert len(endings) == 3
    endings = endings_of_children(monkeypatch)
    call_command(*command, stdout=io.StringIO())
    assert ([ending.end for ending in endings], total(cast.account)) == ([ChildOutcome.DONE], Decimal("1.5"))


def test_a_child_that_takes_too_much_memory_ends_and_no_other_process() -> None:
    ending = child_process.run(f"{__name__}.take_memory", 4_000, name="greedy", memory=MEMORY)
    assert ending.end is ChildOutcome.MEMORY
    assert ending.peak_bytes < MEMORY * 1.3
    ending = child_process.run(f"{__name__}.take_much_memory_at_once", name="greedy", memory=MEMORY)
    assert (ending.end, ending.code) == (ChildOutcome.DIED, 7)


def test_a_child_that_dies_says_by_what_and_one_that_is_not_wanted_ends() -> None:
    assert child_process.run(f"{__name__}.crash", name="dies").cause == "signal 11"
    assert (
        child_process.run(f"{__name__}.wait_forever", name="waits", should_continue=lambda: False).end
        is ChildOutcome.CANCELED
    )


def endings_of_children(
    monkeypatch: pytest.MonkeyPatch, function: str = ""
) -> list[child_process.ChildResult]:
    """How the children of imports end from now on; instead of importing they do `function`."""
    endings: list[child_process.ChildResult] = []
    real = child_process.run

    def run_child(path: str, *arguments: Any, **options: Any) -> child_process.ChildResult:
        path, arguments = (f"{__name__}.{function}", ()) if function else (path, arguments)
        endings.append(real(path, *arguments, **options))
        return endings[-1]

    monkeypatch.setattr(child_process, "run", run_child)
    return endings


def test_an_import_whose_child_dies_is_retried_twice_and_then_failed_with_a_sentence(
    cast: Cast, source: CostSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = queue_import(cast, source, as_csv({}))
    with monkeypatch.context() as patched:
        endings = endings_of_children(patched, "crash")
        assert run(job).status == "running"
        for _ in range(4):
            run(job)
    job.refresh_from_db()
    assert (job.status, len(endings)) == ("failed", 3)
    assert job.error == (
        "The process of the import ended unexpectedly three times, the last time while reading "
        "(signal 11). Nothing was changed."
    )
    assert run(queue_import(cast, source, as_csv({}))).status == "done"


def test_an_import_whose_child_hangs_is_canceled_from_outside(
    cast: Cast, source: CostSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "CANCEL_GRACE_PERIOD", timedelta(0))
    job = queue_import(cast, source, as_csv({}))
    endings = endings_of_children(monkeypatch, "wait_forever")

    def cancel() -> None:
        rows = CostImport.objects.unscoped().filter(pk=job.pk)
        wait_until(lambda: rows.filter(status="running").exists())
        with account_scope(cast.account):
            services.cancel_import(job=job, actor=cast.actor)
        connection.close()

    thread = Thread(target=cancel)
    thread.start()
    assert run(job).status == "canceled"
    thread.join()
    assert [ending.end for ending in endings] == [ChildOutcome.CANCELED]


def test_an_import_whose_child_hangs_fails_when_its_time_is_over(
    cast: Cast, source: CostSource, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.JOB_MAX_SECONDS = 0
    endings_of_children(monkeypatch, "wait_forever")

    job = run(queue_import(cast, source, as_csv({})))

    assert (job.status, job.error[:27]) == ("failed", "The import took longer than")
    assert run(job).attempts == 1


def dictionary_bomb(column: str, value: str, rows: int = 65_536) -> bytes:
    """A few kilobytes of Parquet that hold `value` in every row."""
    columns: dict[str, pa.Array] = {
        name: pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([text]))
        for name, text in {**ROW, column: value}.items()
    }
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd", store_schema=False, write_statistics=False)
    return file.getvalue()


@pytest.mark.parametrize("column", ["ResourceId"])
def test_a_dictionary_value_of_64_kb_in_65536_rows_ends_nothing_but_its_import(
    cast: Cast, source: CostSource, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings = endings_of_children(monkeypatch)
    data = dictionary_bomb(column, "x" * 65_536)
    assert len(data) < 10_000
    job = run(queue_import(cast, source, data))
    assert job.status == "failed"
    assert endings[0].peak_bytes < 2**30
    assert run(queue_import(cast, source, as_csv({}))).status == "done"

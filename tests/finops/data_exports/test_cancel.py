"""Canceling a run: at any moment a month in the bucket is as it was or complete, and nothing of the rest is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.models import AuditEntry
from finops.connections.connector import SourceUnavailable
from finops.connections.transports.s3 import S3Bucket
from finops.data_exports.models import DataExport, DataExportRun
from finops.data_exports.services import export_run, exports, runs
from finops.lib import clock
from finops.lib.errors import UserError
from finops.notifications.models import Notification
from tests.factories.costs import add_source, store_lines
from tests.finops.data_exports.bills import Bucket, lines, spend, sums

FEBRUARY = "finops/focus/data/BILLING_PERIOD=2026-02/"


@pytest.fixture
def restated_export(bucket: Bucket) -> DataExport:
    """An export whose February was restated since."""
    source = add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)
    store_lines(bucket.account, source, lines(date(2026, 2, 1), date(2026, 2, 10)))
    return export


def act_during(
    monkeypatch: pytest.MonkeyPatch, step: str, part: str, act: Callable[[], object], *, last: bool = False
) -> None:
    """Act once, while the bucket is asked to put or delete a key with this part; `last`: after it did."""
    original, calls = getattr(S3Bucket, step), list[str]()

    def call(self: S3Bucket, key: str, *rest: Any) -> Any:
        is_first = part in key and not calls
        if is_first:
            calls.append(key)
        if is_first and not last:
            act()
        original(self, key, *rest)
        if is_first and last:
            act()

    monkeypatch.setattr(S3Bucket, step, call)


def cancel(bucket: Bucket, run: DataExportRun) -> Callable[[], object]:
    return lambda: runs.cancel_run(run=run, actor=bucket.cast.actor)


def content(bucket: Bucket) -> dict[str, bytes]:
    keys = bucket.keys()
    return {key: bucket.read(key) for key in keys}


def test_a_run_that_waits_ends_at_once_and_its_time_is_left_out(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    run = export.runs.get()

    runs.cancel_run(run=run, actor=bucket.cast.actor)

    run.refresh_from_db()
    export.refresh_from_db()
    assert (run.status, run.finished_at) == ("canceled", clock.now())
    assert clock.now() + timedelta(hours=12) <= export.next_run_at <= clock.now() + timedelta(hours=36)
    assert (runs.unfinished_runs(), runs.queue_due_runs()) == ([], 0)
    assert not runs.run_export(run.pk)
    assert bucket.keys() == []
    entry = AuditEntry.objects.get(action="data_export.cancel_run")
    assert (entry.target, entry.detail) == ("focus", {"run_id": run.pk})


@pytest.mark.parametrize("last", [False, True], ids=["before its file", "after its file"])
def test_a_month_without_its_manifest_stays_as_it_was(
    bucket: Bucket, restated_export: DataExport, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    before = content(bucket)
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    act_during(monkeypatch, "put", FEBRUARY.removeprefix("finops/"), cancel(bucket, run), last=last)

    run = bucket.run(restated_export)

    assert (run.status, run.stage, run.error) == ("canceled", "", "")
    assert (run.months_unchanged, run.months_replaced, run.months_failed) == (1, 0, 0)
    assert content(bucket) == before


@pytest.mark.parametrize(
    ("step", "part"),
    [("put", "metadata/BILLING_PERIOD=2026-02/"), ("delete", "data/BILLING_PERIOD=2026-02/")],
    ids=["at its manifest", "at the files before"],
)
def test_a_month_with_its_manifest_is_completed(
    bucket: Bucket,
    restated_export: DataExport,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    step: str,
    part: str,
) -> None:
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    act_during(monkeypatch, step, part, cancel(bucket, run))

    run = bucket.run(restated_export)

    assert (run.status, run.months_unchanged, run.months_replaced) == ("canceled", 1, 1)
    assert bucket.keys(FEBRUARY) == [f"{FEBRUARY}{run.execution_id}-00001.snappy.parquet"]
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "ServiceName") == spend(bucket.account, "service")


def test_a_canceled_run_is_no_failure_and_the_next_one_writes_the_rest(
    bucket: Bucket, restated_export: DataExport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    success = DataExport.objects.get().last_success_at
    with clock.frozen(clock.now() + timedelta(hours=1)):
        run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
        act_during(monkeypatch, "put", "data/BILLING_PERIOD=2026-02/", cancel(bucket, run))
        bucket.run(restated_export)

        export = DataExport.objects.get()
        assert (export.failures, export.last_success_at) == (0, success)
        assert not Notification.objects.exists()
        assert export.next_run_at > clock.now()
        assert bucket.run(export).status == "done"
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "ServiceName") == spend(bucket.account, "service")


def test_a_run_whose_worker_died_is_canceled_without_another_month(
    bucket: Bucket, restated_export: DataExport, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    act_during(monkeypatch, "put", "data/BILLING_PERIOD=2026-02/", _raise_interrupt)
    with suppress(KeyboardInterrupt):
        runs.run_export(run.pk)
    before = content(bucket)

    runs.cancel_run(run=run, actor=bucket.cast.actor)
    runs.cancel_run(run=run, actor=bucket.cast.actor)
    run.refresh_from_db()
    assert (run.status, run.finished_at) == ("running", None)
    assert runs.run_export(run.pk)

    run.refresh_from_db()
    assert run.status == "canceled"
    assert content(bucket) == before
    assert AuditEntry.objects.filter(action="data_export.cancel_run").count() == 1
    with pytest.raises(UserError, match="This run is canceled and can no longer be canceled"):
        runs.cancel_run(run=run, actor=bucket.cast.actor)


def test_a_second_attempt_leaves_the_files_that_the_first_one_completed(
    bucket: Bucket, restated_export: DataExport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    with monkeypatch.context() as patch:
        patch.setattr(export_run, "_store_month", _raise_interrupt)
        with suppress(KeyboardInterrupt):
            runs.run_export(run.pk)
    act_during(monkeypatch, "put", "data/BILLING_PERIOD=2026-02/", cancel(bucket, run), last=True)

    assert runs.run_export(run.pk)

    run.refresh_from_db()
    assert (run.status, run.attempts) == ("canceled", 2)
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "ServiceName") == spend(bucket.account, "service")


def test_a_run_that_deletes_the_files_cannot_be_canceled(bucket: Bucket, restated_export: DataExport) -> None:
    exports.delete_data_export(export=restated_export, actor=bucket.cast.actor, with_files=True)
    run = restated_export.runs.get(status="queued")

    with pytest.raises(UserError, match="is being deleted with its files"):
        runs.cancel_run(run=run, actor=bucket.cast.actor)

    assert runs.run_export(run.pk)
    assert bucket.keys() == []


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("part", "is_replaced"),
    [("data/BILLING_PERIOD=2026-02/", False), ("metadata/BILLING_PERIOD=2026-02/", True)],
    ids=["after a file", "after its manifest"],
)
def test_a_run_that_was_killed_and_canceled_leaves_no_file_without_a_manifest(
    bucket: Bucket, restated_export: DataExport, tmp_path: Path, part: str, is_replaced: bool
) -> None:
    before = content(bucket)
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    kill_during(run, part)
    run.refresh_from_db()
    assert (run.status, len(bucket.keys(FEBRUARY))) == ("running", 2)

    runs.cancel_run(run=run, actor=bucket.cast.actor)
    assert runs.run_export(run.pk)

    run.refresh_from_db()
    assert (run.status, run.months_replaced) == ("canceled", 0)
    named = {f"finops/{file['key']}" for manifest in bucket.manifests() for file in manifest["files"]}
    assert {key for key in content(bucket) if key.endswith(".parquet")} == named
    assert (content(bucket) != before) == is_replaced
    assert bucket.run(DataExport.objects.get()).status == "done"
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "ServiceName") == spend(bucket.account, "service")


def test_a_second_attempt_that_is_canceled_removes_what_the_first_one_left(
    bucket: Bucket, restated_export: DataExport, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(bucket)
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    with monkeypatch.context() as patch:
        act_during(patch, "put", "data/BILLING_PERIOD=2026-02/", _raise_interrupt, last=True)
        with suppress(KeyboardInterrupt):
            runs.run_export(run.pk)
    assert content(bucket) != before
    act_during(monkeypatch, "put", "data/BILLING_PERIOD=2026-02/", cancel(bucket, run))

    assert runs.run_export(run.pk)

    run.refresh_from_db()
    assert (run.status, run.attempts) == ("canceled", 2)
    assert content(bucket) == before


def test_a_run_is_canceled_while_the_bucket_is_away(
    bucket: Bucket, restated_export: DataExport, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs.queue_run(export=restated_export, actor=bucket.cast.actor)
    with monkeypatch.context() as patch:
        act_during(patch, "put", "data/BILLING_PERIOD=2026-02/", _raise_interrupt, last=True)
        with suppress(KeyboardInterrupt):
            runs.run_export(run.pk)
    runs.cancel_run(run=run, actor=bucket.cast.actor)
    monkeypatch.setattr(S3Bucket, "objects", _raise_unavailable)

    assert runs.run_export(run.pk)

    run.refresh_from_db()
    restated_export.refresh_from_db()
    assert (run.status, run.error, restated_export.failures) == ("canceled", "", 0)


def kill_during(run: DataExportRun, part: str) -> None:
    """Another process does the run, and is killed right after it put a key with this part."""
    module, database = "tests.finops.data_exports.killed_run", str(connection.settings_dict["NAME"])
    command = [sys.executable, "-m", module, str(run.pk), database, part]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert answer.returncode == -signal.SIGKILL, answer.stderr


def _raise_unavailable(*_args: Any) -> None:
    raise SourceUnavailable("The bucket is away.")


def _raise_interrupt(*_args: Any) -> None:
    raise KeyboardInterrupt

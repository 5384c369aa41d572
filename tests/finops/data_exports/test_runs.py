"""What runs do: months that changed are replaced whole, the others are left, and what stops a run leaves nothing behind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from accounts.models import Account, AuditEntry
from finops.allocation.models import Team
from finops.allocation.services.teams import own_value
from finops.connections.transports.s3 import S3Bucket
from finops.costs.services import delete_cost_source
from finops.data_exports.models import DataExport, DataExportRun
from finops.data_exports.services import exports, runs
from finops.data_exports.tasks import run_due, run_export
from finops.insights.data_health import data_health
from finops.lib import clock
from finops.lib.errors import UserError
from finops.notifications.models import Notification
from tests.factories.costs import add_source, cost, store_lines
from tests.finops.data_exports.bills import Bucket, allocate, lines, spend, sums
from tests.waiting import threads


def counts(run: DataExportRun) -> dict[str, int]:
    names = ("listed", "unchanged", "written", "replaced", "removed", "failed")
    return {name: count for name in names if (count := getattr(run, f"months_{name}"))}


def test_a_task_does_what_is_due_and_months_that_stay_are_not_written_again(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    run = export.runs.get()
    assert (bucket.account.pk, run.pk) in runs.unfinished_runs()

    run_export(bucket.account.pk, run.pk)
    run.refresh_from_db()
    before = bucket.keys()
    again = bucket.run(export)

    assert (run.status, counts(run)) == ("done", {"listed": 3, "written": 3})
    assert (run.rows, run.bytes > 0, run.seconds is not None) == (len(lines()), True, True)
    assert (again.status, counts(again), again.rows) == ("done", {"listed": 3, "unchanged": 3}, 0)
    assert bucket.keys() == before
    files = [key for key in before if "/data/" in key]
    assert all(
        re.fullmatch(
            rf"finops/focus/data/BILLING_PERIOD=2026-0[1-3]/{run.execution_id}-00001\.snappy\.parquet", key
        )
        for key in files
    )
    assert len(files) == 3


def test_a_restated_month_is_replaced_whole(bucket: Bucket, tmp_path: Path) -> None:
    source = add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)
    before = set(bucket.keys())

    store_lines(bucket.account, source, lines(date(2026, 2, 1), date(2026, 2, 10)))
    run = bucket.run(export)

    assert counts(run) == {"listed": 3, "unchanged": 2, "replaced": 1}
    deleted_keys = before - set(bucket.keys())
    assert [key.split("/")[3] for key in deleted_keys] == ["BILLING_PERIOD=2026-02"]
    folder = "finops/focus/data/BILLING_PERIOD=2026-02/"
    assert [str(run.execution_id) in key for key in bucket.keys(folder)] == [True]
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "ServiceName") == spend(bucket.account, "service")


def test_the_manifest_comes_last_and_what_it_replaces_goes_after_it(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)
    store_lines(bucket.account, source, lines(date(2026, 2, 1), date(2026, 2, 10)))
    steps: list[str] = []
    for name in ("put", "delete"):
        original = getattr(S3Bucket, name)
        monkeypatch.setattr(S3Bucket, name, _recording(steps, name, original))

    bucket.run(export)

    assert [re.sub(r"[0-9a-f-]{36}", "…", step) for step in steps] == [
        "put focus/data/BILLING_PERIOD=2026-02/…-00001.snappy.parquet",
        "put focus/metadata/BILLING_PERIOD=2026-02/focus-Manifest.json",
        "delete focus/data/BILLING_PERIOD=2026-02/…-00001.snappy.parquet",
    ]


def _recording(steps: list[str], name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: S3Bucket, key: str, *rest: Any) -> Any:
        steps.append(f"{name} {key}")
        return original(self, key, *rest)

    return call


def test_other_owners_of_values_and_names_of_sources_write_months_again(
    bucket: Bucket, tmp_path: Path
) -> None:
    allocate(bucket)
    export = bucket.create()
    bucket.run(export)

    team = Team.objects.get(name="Core")
    own_value(team=team, actor=bucket.cast.actor, value="network")
    run = bucket.run(export)

    assert counts(run) == {"listed": 3, "replaced": 6}
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "x_Team") == spend(bucket.account, "team", splits="before")


def test_a_file_that_was_deleted_is_written_again(bucket: Bucket, tmp_path: Path) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)
    bucket.s3.client.delete_object(Bucket=bucket.s3.name, Key=bucket.keys("finops/focus/data/")[0])

    assert counts(bucket.run(export)) == {"listed": 3, "unchanged": 2, "replaced": 1}
    assert sums(bucket.download(tmp_path, bucket.manifests()), "ServiceName") == spend(
        bucket.account, "service"
    )


def test_months_without_a_line_any_more_are_removed(bucket: Bucket) -> None:
    source = add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)

    delete_cost_source(source=source, actor=bucket.cast.actor)
    run = bucket.run(export)

    assert counts(run) == {"removed": 3}
    assert bucket.keys() == ["finops/focus/metadata/export.json"]


def test_a_run_that_was_killed_continues_with_the_months_that_are_left(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    run = export.runs.get()
    upload = S3Bucket.put

    def interrupt(self: S3Bucket, key: str, file: Path) -> None:
        if key.endswith("BILLING_PERIOD=2026-02/focus-Manifest.json"):
            raise KeyboardInterrupt
        upload(self, key, file)

    with monkeypatch.context() as patch:
        patch.setattr(S3Bucket, "put", interrupt)
        with pytest.raises(KeyboardInterrupt):
            runs.run_export(run.pk)
    run.refresh_from_db()
    assert run.status == "running"
    orphan = bucket.keys("finops/focus/data/BILLING_PERIOD=2026-02/")
    assert len(orphan) == 1

    assert runs.run_export(run.pk)
    run.refresh_from_db()

    assert (run.status, run.attempts, counts(run)) == ("done", 2, {"listed": 3, "unchanged": 1, "written": 2})
    assert sums(bucket.download(tmp_path, bucket.manifests()), "ServiceName") == spend(
        bucket.account, "service"
    )
    assert len(bucket.keys("finops/focus/data/")) == 3


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_do_one_export_at_once(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    add_source(bucket.account, lines(date(2026, 1, 1), date(2026, 1, 3)))
    run = bucket.create().runs.get()
    upload, claims = S3Bucket.put, list[bool]()

    def claim_again(self: S3Bucket, key: str, file: Path) -> None:
        with threads(1) as call:
            claims.append(call(runs.run_export, run.pk).result())
        upload(self, key, file)

    monkeypatch.setattr(S3Bucket, "put", claim_again)
    assert runs.run_export(run.pk)

    assert claims == [False] * 3
    runs.queue_run(export=run.export, actor=bucket.cast.actor)
    with pytest.raises(UserError, match="queued or running"):
        runs.queue_run(export=run.export, actor=bucket.cast.actor)


def test_a_bucket_that_is_gone_fails_the_run_notifies_once_and_backs_off(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    bucket.s3.client.delete_bucket(Bucket=bucket.s3.name)

    first, second = bucket.run(export), bucket.run(export)
    export.refresh_from_db()

    assert (first.status, second.status) == ("failed", "failed")
    assert "does not exist" in first.error
    assert (export.failures, export.last_success_at) == (2, None)
    assert clock.now() + timedelta(minutes=15) < export.next_run_at < clock.now() + timedelta(minutes=25)
    [notification] = Notification.objects.all()
    assert notification.title == "Data export focus failed"
    assert notification.path == f"/a/acme/connections/exports/{export.pk}/"
    assert "Data export 'focus' has failed since 2026-03-20 12:00 UTC. Its page has the reason." in (
        data_health(bucket.account).warnings
    )

    bucket.s3.client.create_bucket(Bucket=bucket.s3.name)
    assert bucket.run(export).status == "done"
    export.refresh_from_db()
    assert (export.failures, export.failing_since) == (0, None)
    assert not [text for text in data_health(bucket.account).warnings if "Data export" in text]


def test_schedules_queue_what_is_due(bucket: Bucket) -> None:
    source = add_source(bucket.account, lines())
    daily = bucket.create("daily", schedule="daily")
    after = bucket.create("after", schedule="after_imports")
    paused = exports.pause_data_export(export=bucket.create("paused"), actor=bucket.cast.actor)
    for export in (daily, after, paused):
        bucket.run(export)

    # Cost that was stored just before a run may have been committed after it: it is looked at once more.
    with clock.frozen(clock.now() + timedelta(hours=1)):
        assert runs.queue_due_runs() == 1
        assert counts(bucket.run(after)) == {"listed": 3, "unchanged": 3}
    with clock.frozen(clock.now() + timedelta(hours=2)):
        assert runs.queue_due_runs() == 0
        store_lines(bucket.account, source, lines(date(2026, 3, 1), date(2026, 3, 2)))
        assert runs.queue_due_runs() == 1
        assert counts(bucket.run(after)) == {"listed": 3, "unchanged": 2, "replaced": 1}
        assert runs.queue_due_runs() == 0
    with clock.frozen(clock.now() + timedelta(days=2)):
        assert runs.queue_due_runs() == 2
        assert not paused.runs.filter(status="queued").exists()


def test_a_suspended_account_has_no_runs(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    run = bucket.create().runs.get()
    Account.objects.filter(pk=bucket.account.pk).update(suspended_at=clock.now())

    assert runs.unfinished_runs() == []
    assert not runs.run_export(run.pk)
    run_due()

    assert bucket.keys() == []


def test_two_exports_never_share_a_folder(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    first = bucket.create()
    bucket.run(first)
    keys = bucket.keys()
    exports.delete_data_export(export=first, actor=bucket.cast.actor)
    assert bucket.keys() == keys

    run = bucket.run(bucket.create())

    assert run.status == "failed"
    assert "belongs to another data export" in run.error
    assert bucket.keys() == keys


def test_deleting_with_files_deletes_what_runs_wrote_and_nothing_else(bucket: Bucket) -> None:
    allocate(bucket)
    export = bucket.create()
    bucket.run(export)
    other_keys = [
        "finops/focus/data/BILLING_PERIOD=2026-01/mine.parquet",
        "finops/focus/readme",
        "finops/focus2/x",
    ]
    for key in other_keys:
        bucket.s3.put(key)

    exports.delete_data_export(export=export, actor=bucket.cast.actor, with_files=True)
    assert runs.run_export(export.runs.get(status="queued").pk)

    assert bucket.keys() == other_keys
    assert not DataExport.objects.exists()
    actions = AuditEntry.objects.filter(action__startswith="data_export.").values_list("action", flat=True)
    assert set(actions) == {"data_export.create", "data_export.run", "data_export.delete"}


@pytest.mark.parametrize("schedule", ["daily", "after_imports"])
def test_files_are_deleted_right_after_the_run_that_was_under_way(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, schedule: str
) -> None:
    add_source(bucket.account, lines())
    export = bucket.create(schedule=schedule)
    upload = S3Bucket.put

    def delete(self: S3Bucket, key: str, file: Path) -> None:
        upload(self, key, file)
        exports.delete_data_export(export=export, actor=bucket.cast.actor, with_files=True)

    with monkeypatch.context() as patch:
        patch.setattr(S3Bucket, "put", delete)
        assert bucket.run(export).status == "done"
    assert bucket.keys()

    assert runs.queue_due_runs() == 1
    assert runs.run_export(export.runs.get(status="queued").pk)
    assert (bucket.keys(), DataExport.objects.exists()) == ([], False)


def test_another_bucket_gets_every_month_and_secrets_stay_where_they_are_left_empty(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)

    values = {**bucket.values, "folder": "elsewhere", "secret_access_key": ""}
    exports.change_data_export(
        export=export, actor=bucket.cast.actor, values=values, schedule="hourly", with_splits=False
    )
    run = bucket.run(DataExport.objects.get(pk=export.pk))

    assert (run.status, counts(run)) == ("done", {"listed": 3, "written": 3})
    assert len(bucket.keys("elsewhere/focus/data/")) == 3
    assert len(bucket.keys("finops/focus/data/")) == 3
    entry = AuditEntry.objects.get(action="data_export.change")
    assert entry.detail["fields"] == ["folder"]
    assert "secret" not in str(entry.detail).lower()


def test_another_endpoint_asks_for_the_secret_again(bucket: Bucket) -> None:
    """An admin who does not know it could have it used at a server of her own."""
    export = bucket.create()
    values = {**bucket.values, "endpoint": "https://s3.evil.test", "secret_access_key": ""}
    message = "Enter 'Secret access key' again: 'Endpoint' has changed."

    with pytest.raises(UserError, match=message):
        exports.change_data_export(
            export=export, actor=bucket.cast.actor, values=values, schedule="hourly", with_splits=False
        )
    with pytest.raises(UserError, match=message):
        exports.check_destination(account=bucket.account, destination="s3", values=values, export=export)
    assert DataExport.objects.get(pk=export.pk).config["endpoint"] == bucket.s3.endpoint


def test_columns_that_are_left_out_are_in_no_file(bucket: Bucket, tmp_path: Path) -> None:
    allocate(bucket)
    left_out = ["Tags", "ResourceName", "x_Team", "x_CostTag_product", "x_*"]
    bucket.run(bucket.create(excluded_columns=left_out))

    [path, *_] = bucket.download(tmp_path, bucket.manifests())
    names = pq.read_schema(path).names
    assert not {*left_out, "x_CostTag_product"} & set(names)
    assert {"BilledCost", "ResourceId", "x_CostSource"} <= set(names)
    with pytest.raises(UserError, match="BilledCost cannot be left out"):
        bucket.create("none", excluded_columns=["BilledCost"])


def test_a_provider_column_of_our_name_is_left_out_and_named(bucket: Bucket) -> None:
    day = date(2026, 1, 5)
    add_source(
        bucket.account,
        [{**cost(day, "1", service="S"), "x:^team": "theirs", "x:^cost^center": "42"}],
    )
    bucket.run(bucket.create())

    [manifest] = bucket.manifests()
    assert manifest["columnsLeftOut"] == ["x_Team"]
    assert "x_CostCenter" in [column["name"] for column in manifest["columns"]]


def test_manifests_say_rows_and_sums(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    bucket.run(bucket.create())

    manifests = bucket.manifests()

    totals: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for manifest in manifests:
        for total in manifest["totals"]:
            totals[total["currency"],] += Decimal(total["billedCost"])
    assert totals == spend(bucket.account)
    assert sum(manifest["rows"] for manifest in manifests) == len(lines())

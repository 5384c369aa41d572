"""AWS CloudTrail by the bucket of a trail, on a real S3 server: which log files are read, once, and what becomes of their records."""

from __future__ import annotations

import gc
import gzip
import os
import tracemalloc
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import resource_actors
from finops.connections import services
from finops.connections.configs import config_of_values
from finops.connections.connector import BillMonth, Fetch
from finops.connections.connectors import connector_of
from finops.connections.connectors.aws_cloudtrail import CloudTrailConfig
from finops.connections.models import ConnectionPageCache, CostConnection, CostSync
from finops.connections.transports.s3 import S3Bucket
from finops.connections.vendor_apis import cloudtrail_bucket
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.change_events.code_hosts import march_time, metered_count, titles
from tests.finops.connections.change_events.trail_bucket import (
    ACCOUNT,
    TrailOfTests,
    bucket_values,
    connect,
    key_of,
    log_file,
    record,
    run_instances,
)
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.connections.usage.killed_worker import run_killed_worker

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "444455556666"


@pytest.fixture
def trail(s3: S3TestBucket) -> Iterator[TrailOfTests]:
    with clock.frozen(NOON):
        yield TrailOfTests(s3)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the log files that are read, in any order."""
    names: list[str] = []
    real = S3Bucket.read

    def read(self: S3Bucket, item: Any, limit: int = 0) -> bytes:
        names.append(item.key.rpartition("_")[2].partition(".")[0])
        return real(self, item, limit)

    monkeypatch.setattr(S3Bucket, "read", read)
    return names


def sync(cast: Cast, connection: CostConnection) -> CostSync:
    with account_scope(cast.account):
        return sync_now(connection)


def note_of(done: CostSync, month: str = "2026-03") -> str:
    return str(next(each["note"] for each in done.periods if each["month"] == month))


def test_writes_become_the_events_that_the_event_history_gives(cast: Cast, trail: TrailOfTests) -> None:
    stop = {"instancesSet": {"items": [{"instanceId": "i-0001"}]}, "force": False}
    trail.deliver(
        march_time("10T09:10"),
        "a",
        run_instances(1, march_time("10T09:00"), "i-0001", "i-0002"),
        record(2, march_time("10T09:01"), "StopInstances", requestParameters=stop, responseElements=stop),
        record(3, march_time("10T09:02"), "DescribeInstances", readOnly=True, requestParameters=stop),
        record(
            4,
            march_time("10T09:03"),
            "StopInstances",
            requestParameters=stop,
            errorCode="UnauthorizedOperation",
        ),
        record(5, march_time("10T09:04"), "CreateTags", requestParameters=stop),
        record(
            6,
            march_time("10T09:05"),
            "PutBucketVersioning",
            eventSource="s3.amazonaws.com",
            eventCategory="Data",
            managementEvent=False,
            requestParameters={"bucketName": "logs"},
        ),
    )

    connection = connect(cast, trail.s3)
    sync_run = sync(cast, connection)

    assert (sync_run.status, sync_run.error, note_of(sync_run)) == ("done", "", "")
    assert titles(cast) == ["RunInstances i-0001 and 1 more", "StopInstances i-0001"]
    with account_scope(cast.account):
        created = ChangeEvent.objects.get(external_id="RunInstances/event-1")
        actors = resource_actors()
    assert created.actor == "maya@example.com, role Admin"
    assert created.scope == {
        "resource": [
            "i-0001",
            f"arn:aws:ec2:eu-west-1:{ACCOUNT}:instance/i-0001",
            "i-0002",
            f"arn:aws:ec2:eu-west-1:{ACCOUNT}:instance/i-0002",
        ],
        "account": [ACCOUNT],
    }
    assert (actors["i-0001"].actor, actors["i-0001"].confidence) == ("maya@example.com, role Admin", "high")
    assert len(actions(sync_run)) == 13


def test_only_new_log_files_are_read_and_late_ones_too(
    cast: Cast, trail: TrailOfTests, reads: list[str]
) -> None:
    trail.deliver(march_time("18T08:00"), "first", run_instances(1, march_time("18T07:55"), "i-1"))
    trail.deliver(march_time("20T11:00"), "second", run_instances(2, march_time("20T10:55"), "i-2"))
    connection = connect(cast, trail.s3)
    sync(cast, connection)
    assert sorted(reads) == ["first", "second"]
    reads.clear()

    assert set(actions(sync(cast, connection)).values()) == {"unchanged"}
    assert reads == []

    trail.deliver(march_time("20T09:30"), "late", run_instances(3, march_time("20T09:20"), "i-3"))
    trail.deliver(march_time("20T11:05"), "third", run_instances(4, march_time("20T11:01"), "i-4"))
    trail.deliver(march_time("18T08:05"), "ancient", run_instances(5, march_time("18T08:00"), "i-5"))
    sync_run = sync(cast, connection)

    assert actions(sync_run)["2026-03"] == "imported"
    assert sorted(reads) == ["late", "third"]
    assert titles(cast) == [f"RunInstances i-{number}" for number in (1, 3, 2, 4)]
    assert metered_count(cast) == 4


def test_without_its_pages_a_month_is_read_again_and_counts_once(
    cast: Cast, trail: TrailOfTests, reads: list[str]
) -> None:
    trail.deliver(march_time("18T08:00"), "a", run_instances(1, march_time("18T07:55"), "i-1"))
    trail.deliver(march_time("18T08:05"), "b", run_instances(1, march_time("18T07:55"), "i-1"))
    connection = connect(cast, trail.s3)
    sync(cast, connection)
    with account_scope(cast.account):
        ConnectionPageCache.objects.all().delete()
    reads.clear()

    assert set(actions(sync(cast, connection)).values()) == {"unchanged"}
    trail.deliver(march_time("19T08:00"), "c", run_instances(2, march_time("19T07:55"), "i-2"))
    sync(cast, connection)

    assert sorted(reads) == ["a", "b", "c"]
    assert titles(cast) == ["RunInstances i-1", "RunInstances i-2"]
    assert metered_count(cast) == 2


def test_events_stay_when_the_bucket_deletes_old_log_files(cast: Cast, trail: TrailOfTests) -> None:
    old = trail.deliver(march_time("02T08:00"), "a", run_instances(1, march_time("02T07:55"), "i-1"))
    connection = connect(cast, trail.s3)
    sync(cast, connection)

    trail.s3.client.delete_object(Bucket=trail.s3.name, Key=old)
    trail.deliver(march_time("19T08:00"), "b", run_instances(2, march_time("19T07:55"), "i-2"))
    sync(cast, connection)

    assert titles(cast) == ["RunInstances i-1", "RunInstances i-2"]


def test_an_event_of_the_last_minutes_of_a_month_is_of_that_month(cast: Cast, trail: TrailOfTests) -> None:
    before = datetime.fromisoformat("2026-02-28T23:58:00+00:00")
    trail.deliver(march_time("01T00:05"), "a", run_instances(1, before, "i-1"))

    sync_run = sync(cast, connect(cast, trail.s3))

    assert {month: each["rows"] for each in sync_run.periods if (month := each["month"]) > "2026-01"} == {
        "2026-02": 1,
        "2026-03": 0,
    }
    assert titles(cast) == ["RunInstances i-1"]


def test_an_organization_trail_has_the_events_of_its_accounts(cast: Cast, trail: TrailOfTests) -> None:
    organization = {"parent": "o-exampleorg1/"}
    trail.deliver(
        march_time("10T09:10"), "a", run_instances(1, march_time("10T09:00"), "i-1"), **organization
    )
    record_of_other = run_instances(
        2, march_time("10T10:00"), "i-2", recipientAccountId=OTHER, awsRegion="us-east-1"
    )
    trail.deliver(
        march_time("10T10:10"), "b", record_of_other, account=OTHER, region="us-east-1", **organization
    )
    third = run_instances(3, march_time("10T11:00"), "i-3", recipientAccountId="777788889999")
    trail.deliver(march_time("10T11:10"), "c", third, account="777788889999", **organization)
    trail.s3.put(f"AWSLogs/o-exampleorg1/{ACCOUNT}/CloudTrail-Digest/eu-west-1/2026/03/10/x.json.gz")
    trail.s3.put(f"AWSLogs/o-exampleorg1/{ACCOUNT}/Config/eu-west-1/2026/03/10/x.json.gz")

    sync_run = sync(cast, connect(cast, trail.s3, accounts=f"{ACCOUNT}, {OTHER}"))

    assert (sync_run.status, note_of(sync_run)) == ("done", "")
    with account_scope(cast.account):
        scopes = [each.scope for each in ChangeEvent.objects.order_by("occurred_at")]
    assert [each["account"] for each in scopes] == [[ACCOUNT], [OTHER]]
    assert scopes[1]["resource"][1] == f"arn:aws:ec2:us-east-1:{OTHER}:instance/i-2"


def test_regions_are_chosen_and_the_prefix_of_the_trail_is_kept(cast: Cast, trail: TrailOfTests) -> None:
    for number, region in enumerate(("eu-west-1", "us-east-1")):
        key = key_of(march_time("10T09:10"), "a", region=region)
        trail.s3.put(
            f"trails/{key}", log_file([run_instances(number, march_time("10T09:00"), f"i-{number}")])
        )

    sync(cast, connect(cast, trail.s3, prefix="trails", regions="us-east-1"))

    assert titles(cast) == ["RunInstances i-1"]


def test_log_files_that_cannot_be_read_are_counted_and_named(
    cast: Cast, trail: TrailOfTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloudtrail_bucket, "MAX_FILE_BYTES", 4_000)
    monkeypatch.setattr(cloudtrail_bucket, "MAX_TEXT_BYTES", 50_000)
    monkeypatch.setattr(cloudtrail_bucket, "MAX_RECORDS", 10)
    good = log_file([run_instances(1, march_time("10T09:00"), "i-1"), {"eventName": 7}])
    contents = {
        "a": b"no gzip",
        "b": good[:-20],
        "c": gzip.compress(b'{"Records": 1}'),
        "d": gzip.compress(b'{"Records": [' + b" " * 60_000 + b"]}"),
        "e": os.urandom(5_000),
        "f": gzip.compress(b'{"Records": [' + b",".join([b"{}"] * 11) + b"]}"),
        "g": good,
    }
    for name, content in contents.items():
        trail.s3.put(key_of(march_time("10T09:10"), name), content)
    connection = connect(cast, trail.s3)

    first = note_of(sync(cast, connection))
    trail.deliver(march_time("19T08:00"), "later", run_instances(2, march_time("19T07:55"), "i-2"))

    assert first == note_of(sync(cast, connection))
    assert first.startswith(
        f"6 log files cannot be read and were left out. First: {key_of(march_time('10T09:10'), 'a')} (no log file of CloudTrail)."
    )
    assert "1 records of log files cannot be read" in first
    assert titles(cast) == ["RunInstances i-1", "RunInstances i-2"]


def test_other_files_than_logs_are_not_read(cast: Cast, trail: TrailOfTests, reads: list[str]) -> None:
    folder = key_of(march_time("10T09:10"), "a").rpartition("/")[0]
    wrong_day = key_of(march_time("11T09:10"), "x").rpartition("/")[2]
    for name in ("readme.txt", f"{ACCOUNT}_CloudTrail_eu-west-1_20260310T9910Z_a.json.gz", wrong_day):
        trail.s3.put(f"{folder}/{name}")

    sync_run = sync(cast, connect(cast, trail.s3))

    assert (sync_run.status, note_of(sync_run), reads) == ("done", "", [])


def test_a_test_of_the_connection_names_what_is_wrong(cast: Cast, trail: TrailOfTests) -> None:
    connector = connector_of("aws_cloudtrail")

    def findings(**more: object) -> list[tuple[str, bool, str]]:
        config = config_of_values(connector, bucket_values(trail.s3, **more), external_id="x")
        return [(each.title, each.is_ok, each.fix) for each in connector.check(config)]

    assert "has no log files" in findings()[-1][2]
    trail.deliver(march_time("10T09:10"), "a", run_instances(1, march_time("10T09:00"), "i-1"))
    assert [is_ok for _title, is_ok, _fix in findings()] == [True] * 5
    trail.s3.put(key_of(march_time("11T09:10"), "b"), b"broken")
    assert findings()[-1][1:] == (
        False,
        f"The log file cannot be read: {key_of(march_time('11T09:10'), 'b')} (no log file of CloudTrail).",
    )
    assert "bucket does not exist" in findings(bucket="another-bucket")[-1][2]


def test_an_endpoint_in_a_private_network_is_not_reached(
    cast: Cast, trail: TrailOfTests, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []
    connection = connect(cast, trail.s3)

    sync_run = sync(cast, connection)

    assert sync_run.status == "failed"
    assert "endpoint" in sync_run.error


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"read_from": "trail_bucket", "bucket": "logs", "accounts": "acme"}, "'acme' is no account ID"),
        ({"read_from": "trail_bucket", "bucket": "logs", "regions": "europe"}, "is no region"),
    ],
)
def test_settings_of_a_bucket_are_checked(values: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CloudTrailConfig(**values)


@pytest.mark.parametrize(("checks", "stored"), [(0, 0), (1, 0), (3, 3)])
def test_a_sync_that_is_killed_resumes_and_stores_nothing_twice(
    cast: Cast, s3: S3TestBucket, settings: Settings, checks: int, stored: int
) -> None:
    """A month asks twice whether the sync goes on: before its events are written, and before they are committed."""
    trail = TrailOfTests(s3)
    first = clock.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for number in range(2):
        moment = first - timedelta(days=3 - number)
        trail.deliver(moment + timedelta(minutes=5), "a", run_instances(10 + number, moment, f"i-1{number}"))
    records = [run_instances(20 + each, first + timedelta(seconds=each), f"i-2{each}") for each in range(3)]
    trail.deliver(first, "b", *records)
    connect(cast, s3)
    queued = CostSync.objects.unscoped().get()
    run_killed_worker(queued.pk, checks)
    assert (len(titles(cast)), metered_count(cast)) == (stored, stored)

    with account_scope(cast.account):
        assert services.run_sync(queued.pk)

    queued.refresh_from_db()
    assert (queued.status, queued.error, queued.attempts) == ("done", "", 2)
    assert titles(cast) == [f"RunInstances i-{number}" for number in (10, 11, 20, 21, 22)]
    assert metered_count(cast) == 5


def test_a_day_of_many_events_takes_no_more_memory_than_a_few_log_files(
    trail: TrailOfTests, tmp_path: Path
) -> None:
    """100,000 events in 50 log files, beside 40,000 in 20: one file is in memory at a time, and a few compressed ones."""
    moment = march_time("10T09:00")
    rows = [record(number, moment, "DescribeInstances", readOnly=True) for number in range(1_980)]
    rows += [run_instances(f"x{number}", moment, f"i-{number}") for number in range(20)]
    content = log_file(rows)
    connector = connector_of("aws_cloudtrail")
    config = config_of_values(connector, bucket_values(trail.s3), external_id="x")

    def peak(files: int, folder: str) -> int:
        for number in range(files):
            trail.s3.put(key_of(moment + timedelta(minutes=5 * number), "a"), content)
        (tmp_path / folder).mkdir()
        thresholds = gc.get_threshold()
        gc.collect()
        # As in production: the suite collects rarely, and the client's cycles hold bodies.
        gc.set_threshold(700, 10, 10)
        tracemalloc.start()
        try:
            fetched = connector.fetch(config, BillMonth(date(2026, 3, 1), ""), Fetch(tmp_path / folder))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            gc.set_threshold(*thresholds)
            assert fetched[0].path.read_bytes().count(b"\n") == 20 * files

    few, many = peak(20, "few"), peak(50, "many")

    assert many < few * 1.3

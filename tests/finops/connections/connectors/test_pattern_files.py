"""Files by a path pattern in buckets of S3, Azure and Google, through whole syncs, from servers that speak as they do."""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from moto.s3.models import S3Backend

from accounts.scoping import account_scope
from finops.connections import pattern_files, services
from finops.connections.connector import CheckFinding, ConnectorConfig
from finops.connections.connectors.bucket_focus import BucketFocus, BucketFocusConfig
from finops.connections.models import CostConnection
from finops.connections.services.source_listings import list_source_months_in_child
from finops.connections.transports.bucket import BucketObject, StorageBucket
from finops.connections.transports.s3 import S3Bucket
from tests.cast import Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.azurite import AzureContainer
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.gcs_emulator import GcsTestBucket, key_file
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now
from tests.finops.costs.test_archives import zip_bytes
from tests.s3 import KEY, REGION

pytestmark = pytest.mark.django_db

FOCUS = Path("tests/data/focus/synthetic/focus_1_2_cost_and_usage_azure.csv.gz")


@dataclass
class Store:
    """A bucket of one provider: what puts an object there, and how a connection reads it."""

    cast: Cast
    connector: str
    put: Callable[[str, bytes], None]
    values: Mapping[str, object]
    gone: Mapping[str, object]
    """The values of a bucket that is not there."""

    def connect(self, **values: object) -> CostConnection:
        return services.create_connection(
            account=self.cast.account,
            actor=self.cast.actor,
            name="Bills",
            connector=self.connector,
            values={**self.values, **values},
        )

    def check(self, **values: object) -> list[CheckFinding]:
        return services.check_config(
            account=self.cast.account, connector=self.connector, values={**self.values, **values}
        )


@pytest.fixture(params=["bucket_focus", "azure_bucket", "google_bucket"])
def store(request: pytest.FixtureRequest, cast: Cast) -> Store:
    missing_bucket = {"bucket": "gone-for-good"}
    if request.param == "bucket_focus":
        s3: S3TestBucket = request.getfixturevalue("s3")
        keys = {"access_key_id": KEY, "secret_access_key": KEY, "endpoint": s3.endpoint, "region": REGION}
        return Store(
            cast, request.param, s3.put, {"bucket": s3.name, "prefix": "focus", **keys}, missing_bucket
        )
    if request.param == "azure_bucket":
        azure: AzureContainer = request.getfixturevalue("container")
        sas = {"access": "sas_url", "sas_url": azure.sas_url(), "path": "focus"}
        missing = AzureContainer(azure.url, "gone").sas_url()
        return Store(cast, request.param, azure.put, sas, {"sas_url": missing})
    gcs: GcsTestBucket = request.getfixturevalue("gcs")
    account = {"bucket": gcs.name, "prefix": "focus", "key": key_file()}
    return Store(cast, request.param, gcs.put, account, missing_bucket)


def billed_by_service(data: bytes) -> dict[str | None, Decimal]:
    sums: dict[str | None, Decimal] = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(gzip.decompress(data).decode())):
        sums[row["ServiceName"]] += Decimal(row["BilledCost"])
    return dict(sums)


def test_months_of_a_pattern_arrive_to_the_cent_and_only_what_changed_is_read_again(store: Store) -> None:
    data = FOCUS.read_bytes()
    store.put("focus/2026/05/a file ü.csv.gz", data)
    store.put("focus/2026/06/part-1.csv", month_rows("2026-06", "1"))
    store.put("focus/2026/06/part-2.csv", month_rows("2026-06", "2"))
    store.put("focus/2026/06/_SUCCESS", b"x")
    store.put("other/2026/06/part-1.csv", month_rows("2026-06", "100"))
    row = store.connect(pattern="{year}/{month}/*")
    with account_scope(store.cast.account):
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2026-06": "imported", "2026-05": "imported"})
        stored = {name: sums[0] for name, sums in cost_by(store.cast.account, "service").items()}
        expected = billed_by_service(data)
        assert {name: amount for name, amount in stored.items() if name in expected} == expected
        assert sum(stored.values()) == sum(expected.values()) + 3
        assert actions(sync_now(row)) == {"2026-06": "unchanged", "2026-05": "unchanged"}

        store.put("focus/2026/06/part-2.csv", month_rows("2026-06", "2.5", "0.25"))
        assert actions(sync_now(row)) == {"2026-06": "imported", "2026-05": "unchanged"}
        assert total(store.cast.account) == sum(expected.values()) + Decimal("3.75")


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["{year}-{month}.zip", "*.zip"])
def test_archives_are_read_as_the_files_inside(store: Store, pattern: str) -> None:
    entries = {"a.csv": month_rows("2026-05", "1.25"), "b.csv": month_rows("2026-05", "2", "4")}
    store.put("focus/2026-05.zip", zip_bytes(entries))
    row = store.connect(pattern=pattern)
    with account_scope(store.cast.account):
        sync = sync_now(row)
        assert (sync.error, actions(sync)) == ("", {"2026-05": "imported"})
        assert total(store.cast.account) == Decimal("7.25")
        assert actions(sync_now(row)) == {"2026-05": "unchanged"}
    assert all(each.is_ok for each in store.check(pattern=pattern) if not each.is_optional)


def test_without_a_month_in_the_path_the_file_says_it_and_is_read_for_it_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    months: list[str] = []
    read = pattern_files._read_month

    def read_and_note(bucket: StorageBucket, found: BucketObject, config: ConnectorConfig) -> date | None:
        months.append(found.key)
        return read(bucket, found, config)

    monkeypatch.setattr(pattern_files, "_read_month", read_and_note)
    store.put("focus/may.csv", month_rows("2026-05", "1"))
    store.put("focus/deep/june.csv", month_rows("2026-06", "2"))
    row = store.connect()
    with account_scope(store.cast.account):
        assert actions(sync_now(row)) == {"2026-06": "imported", "2026-05": "imported"}
        assert actions(sync_now(row)) == {"2026-06": "unchanged", "2026-05": "unchanged"}
        assert total(store.cast.account) == Decimal(3)
    assert sorted(months) == ["deep/june.csv", "may.csv"]


def test_the_check_tries_each_step_in_turn(store: Store) -> None:
    assert [each.is_ok for each in store.check()] == [True, True, True, False]
    store.put("focus/no bill.csv", b"a,b\n1,2\n")
    assert store.check()[-1].title == "Read no bill.csv"
    assert not store.check()[-1].is_ok

    store.put("focus/no bill.csv", month_rows("2026-05", "1"))

    findings = store.check()
    assert [each.is_ok for each in findings if not each.is_optional] == [True] * 5


@pytest.mark.slow
def test_the_check_reads_a_small_file_and_of_large_ones_the_beginning(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = month_rows("2026-05", "1"), month_rows("2026-06", *["1"] * 50)
    monkeypatch.setattr(pattern_files, "MAX_CHECK_BYTES", len(small))
    store.put("focus/june.csv", large)
    assert [each.title for each in store.check()][4:5] == ["Read the beginning of june.csv"]
    store.put("focus/may.csv", small)

    findings = [each for each in store.check() if not each.is_optional]

    assert [each.is_ok for each in findings] == [True] * 5
    assert findings[-1].title == "Read may.csv"


def test_a_large_file_is_read_in_ranges_and_a_long_listing_in_pages(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("s3", "azure_blob", "gcs"):
        monkeypatch.setattr(f"finops.connections.transports.{module}.PAGE", 2)
    for module in ("s3", "rest_bucket"):
        monkeypatch.setattr(f"finops.connections.transports.{module}.CHUNK_BYTES", 100)
    for number in range(5):
        store.put(f"focus/2026/05/{number}.csv", month_rows("2026-05", *["1"] * 4, f"{number}"))
    row = store.connect(pattern="{year}/{month}/*")
    with account_scope(store.cast.account):
        assert sync_now(row).error == ""
        assert total(store.cast.account) == Decimal(30)


def test_a_bucket_that_is_missing_says_so(store: Store) -> None:
    finding = store.check(**store.gone)[-1]

    assert not finding.is_ok
    assert (
        "no such bucket" in finding.fix
        or "There is no bucket" in finding.fix
        or "does not exist" in finding.fix
    )


def test_a_path_with_no_month_that_there_is_is_named(store: Store) -> None:
    store.put("focus/2026/13/part.csv", month_rows("2026-05", "1"))
    row = store.connect(pattern="{year}/{month}/*")
    with account_scope(store.cast.account):
        assert "2026/13/part.csv has no valid month" in sync_now(row).error


def test_too_many_files_without_a_month_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_files, "MAX_FILES_TO_READ", 1)
    for name in ("a", "b"):
        store.put(f"focus/{name}.csv", b"not even read")
    row = store.connect()
    with account_scope(store.cast.account):
        assert "have no month in their path" in sync_now(row).error


class LoopbackBucket(BucketFocus):
    """Servers of this machine, also in a child, which has not the settings of a test."""

    def _open(self, config: BucketFocusConfig) -> S3Bucket:
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        return super()._open(config)


@pytest.mark.slow
def test_a_listing_in_a_process_of_its_own_lists_an_unchanged_source_and_reads_no_file(
    s3: S3TestBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    get_object = S3Backend.get_object

    def get_and_note(backend: S3Backend, bucket_name: str, key_name: str, *rest: Any, **more: Any) -> Any:
        read.append(key_name)
        return get_object(backend, bucket_name, key_name, *rest, **more)

    monkeypatch.setattr(S3Backend, "get_object", get_and_note)
    s3.put("may.csv", month_rows("2026-05", "1"))
    s3.put("june.csv", month_rows("2026-06", "2"))
    config = BucketFocusConfig(
        bucket=s3.name, endpoint=s3.endpoint, region=REGION, access_key_id=KEY, secret_access_key=KEY
    )

    def list_months() -> list[date]:
        read.clear()
        months = list_source_months_in_child(
            LoopbackBucket(), config, answer=tmp_path / "answer", name="look", progress=lambda: None
        )
        return [each.month for each in months]

    assert list_months() == [date(2026, 5, 1), date(2026, 6, 1)]
    assert set(read) == {"may.csv", "june.csv"}
    assert list_months() == [date(2026, 5, 1), date(2026, 6, 1)]
    assert read == []
    s3.put("june.csv", month_rows("2026-07", "2"))
    assert list_months() == [date(2026, 5, 1), date(2026, 7, 1)]
    assert set(read) == {"june.csv"}

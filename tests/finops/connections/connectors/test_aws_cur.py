"""Legacy Cost and Usage Reports: a whole bucket of one, laid out as AWS does it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.aws import AwsBucketConfig
from finops.connections.connector import Fetch, MonthConflict, SourceError, public_fields
from finops.connections.connectors import connector_of
from tests.cast import Cast
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.connectors.lake_sums import sums_in_lake
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.costs.test_archives import zip_bytes
from tests.s3 import KEY, REGION

BUCKET = Path("tests/data/native/aws/aws_cur_legacy_bucket.tar.gz")
AUGUST, SEPTEMBER = date(2018, 8, 1), date(2018, 9, 1)
CONNECTOR = connector_of("aws_cur")


@pytest.fixture
def config(s3: S3TestBucket) -> AwsBucketConfig:
    return AwsBucketConfig(
        bucket=s3.name,
        region=REGION,
        access="access_key",
        access_key_id=KEY,
        secret_access_key=KEY,
        endpoint=s3.endpoint,
    )


def members() -> Iterator[tuple[str, bytes]]:
    with tarfile.open(BUCKET) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            if file is not None:
                yield member.name, file.read()


@pytest.fixture
def whole_bucket(s3: S3TestBucket) -> S3TestBucket:
    for key, content in members():
        s3.put(key, content)
    return s3


def put_report(
    s3_bucket: S3TestBucket,
    period: str,
    assembly: str,
    files: dict[str, bytes],
    *,
    folder: str = "bills/cur",
    **more: Any,
) -> None:
    """An assembly as AWS delivers it: its files, its manifest, then the one above."""
    keys = []
    for name, content in files.items():
        keys.append(f"{folder}/{period}/{assembly}/{name}" if assembly else f"{folder}/{period}/{name}")
        s3_bucket.put(keys[-1], content)
    manifest = json.dumps(
        {"assemblyId": assembly, "reportKeys": keys, "compression": "GZIP", "bucket": s3_bucket.name, **more}
    ).encode()
    if assembly:
        s3_bucket.put(f"{folder}/{period}/{assembly}/cur-Manifest.json", manifest)
    s3_bucket.put(f"{folder}/{period}/cur-Manifest.json", manifest)


def fetch_bytes(config: AwsBucketConfig, month: date, folder: Path) -> list[bytes]:
    folder.mkdir(exist_ok=True)
    bill_month = {each.month: each for each in CONNECTOR.months(config)}[month]
    return [file.path.read_bytes() for file in CONNECTOR.fetch(config, bill_month, Fetch(folder))]


def test_a_whole_bucket_arrives_unchanged(
    config: AwsBucketConfig, whole_bucket: S3TestBucket, tmp_path: Path
) -> None:
    data = {key: content for key, content in members() if key.endswith(".csv.gz")}
    months = CONNECTOR.months(config)

    assert [(each.month, each.bytes) for each in months] == [(AUGUST, 985_116)]
    assert fetch_bytes(config, AUGUST, tmp_path) == list(data.values())
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(*data.values()).decode())))
    assert len(rows) == 13_380
    assert {row["bill/BillingPeriodStartDate"][:7] for row in rows} == {"2018-06", "2018-07", "2018-08"}
    assert [each.is_ok for each in CONNECTOR.check(config)] == [True] * 7


def test_a_whole_sync_equals_the_raw_file_by_account_month_and_currency(
    cast: Cast, config: AwsBucketConfig, whole_bucket: S3TestBucket
) -> None:
    """Its one report is August's and has lines of June and July besides, which no report of theirs brings."""
    raw = next(content for key, content in members() if key.endswith(".csv.gz"))
    expected: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(gzip.decompress(raw).decode())):
        month, currency = row["bill/BillingPeriodStartDate"][:7], row["lineItem/CurrencyCode"]
        expected[row["lineItem/UsageAccountId"], month, currency] += Decimal(row["lineItem/UnblendedCost"])
    values = {name: getattr(config, name) for name in [*public_fields(type(config)), "secret_access_key"]}
    connection = services.create_connection(
        account=cast.account, actor=cast.actor, name="CUR", connector=CONNECTOR.name, values=values
    )

    with account_scope(cast.account):
        sync = sync_now(connection)
        billed: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
        for (_, *group), (amount, _) in sums_in_lake(cast.account).items():
            billed[tuple(group)] += amount

    assert actions(sync) == {"2018-08": "imported"}
    assert sync.rows == 13_380
    # The raw amounts have up to 21 digits after the point, the lake 18.
    assert {key: round(amount, 12) for key, amount in billed.items()} == {
        key: round(amount, 12) for key, amount in expected.items()
    }
    assert round(sum(billed.values()), 2) == Decimal("143227.76")


def test_only_the_assembly_of_the_manifest_above_is_current(
    config: AwsBucketConfig, s3: S3TestBucket, tmp_path: Path
) -> None:
    export_config = replace(config, prefix="bills", export="cur")
    put_report(s3, "20180801-20180901", "aaaa", {"cur-1.csv.gz": b"old 1", "cur-2.csv.gz": b"old 2"})
    before = CONNECTOR.months(export_config)
    put_report(s3, "20180801-20180901", "0000", {"cur-1.csv.gz": b"restated"})
    put_report(s3, "20180901-20181001", "bbbb", {"cur-1.csv.gz": b"september"})

    after = {each.month: each for each in CONNECTOR.months(export_config)}

    assert fetch_bytes(export_config, AUGUST, tmp_path / "8") == [b"restated"]
    assert fetch_bytes(export_config, SEPTEMBER, tmp_path / "9") == [b"september"]
    assert after[AUGUST].fingerprint != before[0].fingerprint


def test_an_assembly_that_expires_changes_nothing(config: AwsBucketConfig, s3: S3TestBucket) -> None:
    put_report(s3, "20180801-20180901", "aaaa", {"cur-1.csv.gz": b"old"})
    for key in ("cur-1.csv.gz", "cur-Manifest.json"):
        s3.age(f"bills/cur/20180801-20180901/aaaa/{key}", timedelta(days=1))
    put_report(s3, "20180801-20180901", "bbbb", {"cur-1.csv.gz": b"new"})
    before = CONNECTOR.months(config)
    for key in ("cur-1.csv.gz", "cur-Manifest.json"):
        s3.client.delete_object(Bucket=s3.name, Key=f"bills/cur/20180801-20180901/aaaa/{key}")

    assert CONNECTOR.months(config) == before
    assert before[0].bytes == 3


@pytest.mark.parametrize(
    "key",
    [
        "bills/cur/20180801-20180901/cur-00001.csv.gz",
        "bills/cur/cur/year=2018/month=8/cur-00001.snappy.parquet",
    ],
)
def test_reports_that_are_overwritten_and_those_for_athena_are_read(
    config: AwsBucketConfig, s3: S3TestBucket, tmp_path: Path, key: str
) -> None:
    s3.put(key, b"data")
    manifest = {"reportKeys": [key], "compression": "GZIP"}
    s3.put("bills/cur/20180801-20180901/cur-Manifest.json", json.dumps(manifest).encode())
    before = CONNECTOR.months(config)

    assert fetch_bytes(config, AUGUST, tmp_path) == [b"data"]
    s3.put(key, b"other")
    assert [(each.month, each.bytes) for each in CONNECTOR.months(config)] == [(AUGUST, 5)]
    assert CONNECTOR.months(config)[0].fingerprint != before[0].fingerprint


def test_a_manifest_whose_files_come_later_is_a_conflict(
    config: AwsBucketConfig, s3: S3TestBucket, tmp_path: Path
) -> None:
    put_report(s3, "20180801-20180901", "aaaa", {"cur-1.csv.gz": b"x"})
    s3.client.delete_object(Bucket=s3.name, Key="bills/cur/20180801-20180901/aaaa/cur-1.csv.gz")

    with pytest.raises(MonthConflict, match="does not exist yet"):
        fetch_bytes(config, AUGUST, tmp_path)


def test_a_manifest_that_leaves_the_prefix_is_refused(
    config: AwsBucketConfig, s3: S3TestBucket, tmp_path: Path
) -> None:
    s3.put("secrets/1.csv.gz")
    put_report(s3, "20180801-20180901", "aaaa", {}, reportKeys=["secrets/1.csv.gz"])

    with pytest.raises(SourceError, match=r"secrets/1\.csv\.gz, which is outside of"):
        fetch_bytes(replace(config, prefix="bills"), AUGUST, tmp_path)


def test_the_check_finds_unreadable_files(config: AwsBucketConfig, s3: S3TestBucket) -> None:
    put_report(s3, "20180801-20180901", "aaaa", {"cur-1.zip": b"PK"}, compression="ZIP")

    failed = CONNECTOR.check(config)[-1]

    assert not failed.is_ok
    assert "cur-1.zip is neither gzip, ZIP nor Parquet" in failed.fix


def test_a_report_in_zip_is_the_same_report(
    cast: Cast, config: AwsBucketConfig, s3: S3TestBucket, whole_bucket: S3TestBucket
) -> None:
    raw = gzip.decompress(next(content for key, content in members() if key.endswith(".csv.gz")))
    billed = sum(Decimal(row["lineItem/UnblendedCost"]) for row in csv.DictReader(io.StringIO(raw.decode())))
    put_report(
        s3,
        "20180801-20180901",
        "aaaa",
        {"cur-1.csv.zip": zip_bytes({"cur-1.csv": raw})},
        folder="zip/cur",
        compression="ZIP",
    )
    zip_config = replace(config, prefix="zip")
    assert [each.is_ok for each in CONNECTOR.check(zip_config)] == [True] * 7
    values = {name: getattr(zip_config, name) for name in [*public_fields(type(config)), "secret_access_key"]}
    connection = services.create_connection(
        account=cast.account, actor=cast.actor, name="CUR", connector=CONNECTOR.name, values=values
    )
    with account_scope(cast.account):
        sync = sync_now(connection)
        assert (sync.error, actions(sync), sync.rows) == ("", {"2018-08": "imported"}, 13_380)
        assert round(sum(amount for amount, _ in sums_in_lake(cast.account).values()), 12) == round(
            billed, 12
        )


def test_two_reports_below_one_prefix_need_a_name(config: AwsBucketConfig, s3: S3TestBucket) -> None:
    for name in ("hourly", "daily"):
        put_report(s3, "20180801-20180901", "a", {"1.csv.gz": b"x"}, folder=f"bills/{name}")

    with pytest.raises(SourceError, match="2 exports: daily, hourly"):
        CONNECTOR.months(config)

"""AWS Data Exports from a real S3 server: what arrives is what the manifest of each month names, to the cent."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.aws import AwsBucketConfig
from finops.connections.connector import BillMonth, Fetch, MonthConflict, SourceError, public_fields
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.connectors.bills import (
    DataExport,
    as_csv_gz,
    as_parquet,
    focus_rows,
    halves,
    of_month,
    sums,
)
from tests.finops.connections.connectors.lake_sums import sums_in_lake
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.s3 import KEY, REGION

MAY, JUNE = date(2026, 5, 1), date(2026, 6, 1)
CONNECTOR = connector_of("aws_data_exports")


@pytest.fixture
def config(s3: S3TestBucket) -> AwsBucketConfig:
    return AwsBucketConfig(
        bucket=s3.name,
        prefix="exports",
        region=REGION,
        access="access_key",
        access_key_id=KEY,
        secret_access_key=KEY,
        endpoint=s3.endpoint,
    )


@pytest.fixture
def export(s3: S3TestBucket) -> DataExport:
    return DataExport(s3)


def months(config: AwsBucketConfig) -> dict[date, BillMonth]:
    return {each.month: each for each in CONNECTOR.months(config)}


@pytest.fixture
def connection(cast: Cast, config: AwsBucketConfig) -> Iterator[CostConnection]:
    values = {name: getattr(config, name) for name in [*public_fields(AwsBucketConfig), "secret_access_key"]}
    row = services.create_connection(
        account=cast.account, actor=cast.actor, name="AWS", connector=CONNECTOR.name, values=values
    )
    with account_scope(cast.account):
        yield row


@pytest.mark.parametrize(("write", "ending"), [(as_csv_gz, "csv.gz"), (as_parquet, "snappy.parquet")])
@pytest.mark.parametrize("partition", ["BILLING_PERIOD=", "billing_period="])
def test_imported_cost_equals_the_raw_files_by_service_account_month_and_currency(
    cast: Cast, connection: CostConnection, s3: S3TestBucket,
    write: Any, ending: str, partition: str,
) -> None:  # fmt: skip
    export = DataExport(s3, partition=partition)
    may, june = focus_rows(), of_month(focus_rows()[:400], "2026-06", "1.5")
    export.deliver("2026-05", halves(may, write, ending))
    export.deliver("2026-06", {f"focus-00001.{ending}": write(june)})

    sync_now(connection)

    assert sums_in_lake(cast.account) == sums([*may, *june])


def test_a_sync_reads_a_month_again_when_it_was_restated_and_else_not(
    cast: Cast, connection: CostConnection, export: DataExport
) -> None:
    rows = focus_rows()[:60]
    export.deliver("2026-05", halves(rows, as_csv_gz, "csv.gz"))
    export.deliver("2026-06", {"1.csv.gz": as_csv_gz(of_month(rows[:20], "2026-06"))})
    sync_now(connection)
    again = actions(sync_now(connection))
    export.deliver("2026-05", {"focus-00001.csv.gz": as_csv_gz(rows[:10])})

    restated = actions(sync_now(connection))

    assert again == {"2026-06": "unchanged", "2026-05": "unchanged"}
    assert restated == {"2026-06": "unchanged", "2026-05": "imported"}
    assert sums_in_lake(cast.account) == sums([*rows[:10], *of_month(rows[:20], "2026-06")])


def test_a_truncated_file_leaves_the_month_as_it_was(
    cast: Cast, connection: CostConnection, export: DataExport
) -> None:
    rows = focus_rows()[:60]
    export.deliver("2026-05", {"1.csv.gz": as_csv_gz(rows)})
    sync_now(connection)
    export.deliver("2026-05", {"1.csv.gz": as_csv_gz(rows[:50])[:-900]})

    sync = sync_now(connection)

    assert actions(sync) == {"2026-05": "failed"}
    assert "1.csv.gz" in sync.error
    assert sums_in_lake(cast.account) == sums(rows)


def test_a_month_is_listed_once_its_manifest_is_there(config: AwsBucketConfig, export: DataExport) -> None:
    export.deliver("2026-05", {"focus-00001.csv.gz": as_csv_gz(focus_rows()[:9])})
    url = export.put_file("2026-06", "focus-00001.csv.gz", b"x")
    assert set(months(config)) == {MAY}

    export.put_manifest("2026-06", [url])

    assert set(months(config)) == {MAY, JUNE}
    assert months(config)[JUNE].bytes == 1


def test_a_fingerprint_changes_with_the_manifest_and_with_the_files_and_else_never(
    config: AwsBucketConfig, export: DataExport
) -> None:
    export.deliver("2026-05", {"focus-00001.csv.gz": b"one"})
    first = months(config)[MAY].fingerprint
    assert months(config)[MAY].fingerprint == CONNECTOR.month(config, MAY).fingerprint == first  # type: ignore[union-attr]

    export.deliver("2026-05", {"focus-00001.csv.gz": b"two"})
    second = months(config)[MAY].fingerprint
    export.put_manifest("2026-05", [], executionId="another")
    third = months(config)[MAY].fingerprint

    assert len({first, second, third}) == 3


def test_only_the_newest_execution_of_an_export_with_new_files_counts(
    cast: Cast, connection: CostConnection, config: AwsBucketConfig, export: DataExport
) -> None:
    first, second = focus_rows()[:50], of_month(focus_rows()[:40], "2026-05", "2")
    export.deliver("2026-05", {"focus-00001.csv.gz": as_csv_gz(first)}, execution="20260510T010203Z-aaaa")
    before = months(config)[MAY]
    export.deliver("2026-05", {"focus-00001.csv.gz": as_csv_gz(second)}, execution="20260511T010203Z-bbbb")

    sync_now(connection)

    assert sums_in_lake(cast.account) == sums(second)
    assert months(config)[MAY].fingerprint != before.fingerprint
    assert months(config)[MAY].bytes == len(as_csv_gz(second))


def test_files_of_older_executions_are_not_read_where_the_manifest_lies_above_them(
    cast: Cast, connection: CostConnection, config: AwsBucketConfig, export: DataExport
) -> None:
    rows = focus_rows()[:50]
    export.put_file("2026-05", "focus-00001.csv.gz", as_csv_gz(rows), execution="20260510T010203Z-aaaa")
    url = export.put_file("2026-05", "focus-00001.csv.gz", as_csv_gz(rows), execution="20260511T010203Z-bbbb")
    export.put_manifest("2026-05", [url, url])

    old = export.key("data", "2026-05", "20260510T010203Z-aaaa/focus-00001.csv.gz")
    export.s3_bucket.age(old, timedelta(days=1))
    before = months(config)[MAY]
    sync_now(connection)
    export.s3_bucket.client.delete_object(Bucket=export.s3_bucket.name, Key=old)

    assert sums_in_lake(cast.account) == sums(rows)
    assert months(config)[MAY] == before


def test_a_month_is_not_read_during_its_delivery(
    config: AwsBucketConfig, export: DataExport, tmp_path: Path
) -> None:
    export.deliver("2026-05", {"focus-00001.csv.gz": as_csv_gz(focus_rows()[:9])})
    before = months(config)[MAY]
    export.s3_bucket.age(export.key("metadata", "2026-05", "focus-Manifest.json"), timedelta(seconds=5))
    url = export.put_file("2026-05", "focus-00001.csv.gz", as_csv_gz(focus_rows()[:8]))

    assert MAY not in months(config)
    with pytest.raises(MonthConflict, match="being delivered"):
        CONNECTOR.fetch(config, before, Fetch(tmp_path))

    export.put_manifest("2026-05", [url])
    assert months(config)[MAY].fingerprint != before.fingerprint


def test_a_copy_of_a_bucket_that_keeps_no_order_is_read_an_hour_later(
    config: AwsBucketConfig, export: DataExport
) -> None:
    export.deliver("2026-05", {"1.csv.gz": b"one"})
    export.s3_bucket.age(export.key("metadata", "2026-05", "focus-Manifest.json"), timedelta(hours=2))
    assert months(config) == {}

    export.s3_bucket.age(export.key("data", "2026-05", "1.csv.gz"), timedelta(minutes=61))

    assert set(months(config)) == {MAY}


def test_a_manifest_whose_files_come_later_is_a_conflict(
    config: AwsBucketConfig, export: DataExport, tmp_path: Path
) -> None:
    url = f"s3://{export.s3_bucket.name}/{export.key('data', '2026-05', 'focus-00001.csv.gz')}"
    export.put_manifest("2026-05", [url])

    with pytest.raises(MonthConflict, match="does not exist yet"):
        CONNECTOR.fetch(config, months(config)[MAY], Fetch(tmp_path))


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("s3://someone-elses/exports/focus/data/BILLING_PERIOD=2026-05/1.csv.gz", "another bucket"),
        ("exports/focus/data/BILLING_PERIOD=2026-04/1.csv.gz", "not among the month's data"),
        ("exports/other/data/BILLING_PERIOD=2026-05/1.csv.gz", "not among the month's data"),
        ("secrets/1.csv.gz", "outside of"),
        ("exports/focus/data/BILLING_PERIOD=2026-05/../../../../secrets/1.csv.gz", "not a valid key"),
        ("/etc/passwd", "not a valid key"),
    ],
)
def test_a_manifest_that_names_a_foreign_key_is_refused_by_its_name(
    config: AwsBucketConfig, export: DataExport, tmp_path: Path, named: str, text: str
) -> None:
    export.s3_bucket.put("exports/focus/data/BILLING_PERIOD=2026-04/1.csv.gz")
    export.s3_bucket.put("secrets/1.csv.gz")
    export.put_manifest("2026-05", [named])

    with pytest.raises(SourceError, match=text) as error:
        CONNECTOR.fetch(config, months(config)[MAY], Fetch(tmp_path))

    assert named.rpartition("/")[2] in error.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("manifest", [b"", b"{", b"[]", b'{"dataFiles": 3}', b"\xff\xfe", b'{"files": []}'])
def test_an_invalid_manifest_says_so(
    config: AwsBucketConfig, export: DataExport, tmp_path: Path, manifest: bytes
) -> None:
    export.s3_bucket.put(export.put_manifest("2026-05", []), manifest)

    with pytest.raises(SourceError, match=r"focus-Manifest\.json cannot be read as a manifest"):
        CONNECTOR.fetch(config, months(config)[MAY], Fetch(tmp_path))


def test_a_month_without_files_is_empty(config: AwsBucketConfig, export: DataExport, tmp_path: Path) -> None:
    export.put_manifest("2026-05", [])

    assert CONNECTOR.fetch(config, months(config)[MAY], Fetch(tmp_path)) == []


def test_two_exports_below_one_prefix_need_a_name(
    config: AwsBucketConfig, s3: S3TestBucket, tmp_path: Path
) -> None:
    for name in ("focus", "cur2"):
        DataExport(s3, name=name).deliver("2026-05", {"1.csv.gz": name.encode()})

    with pytest.raises(SourceError, match="2 exports: cur2, focus") as error:
        CONNECTOR.months(config)
    assert error.value.field == "export"
    for export_config in (replace(config, export="cur2"), replace(config, prefix="exports/cur2", export="cur2"),
                   replace(config, prefix="/exports/cur2/")):  # fmt: skip
        files = CONNECTOR.fetch(export_config, months(export_config)[MAY], Fetch(tmp_path))
        assert [file.path.read_bytes() for file in files] == [b"cur2"]


def test_a_prefix_without_a_manifest_says_what_to_look_at(config: AwsBucketConfig, s3: S3TestBucket) -> None:
    s3.put("exports/focus/data/BILLING_PERIOD=2026-05/1.csv.gz")

    with pytest.raises(SourceError, match="has no manifest of a data export"):
        CONNECTOR.months(config)


def test_a_file_that_was_replaced_between_two_of_a_month_is_a_conflict(
    config: AwsBucketConfig, export: DataExport, tmp_path: Path
) -> None:
    export.deliver("2026-05", {"1.csv.gz": b"one", "2.csv.gz": b"two"})

    def replace_second(_bytes: int) -> None:
        export.put_file("2026-05", "2.csv.gz", b"new")

    with pytest.raises(MonthConflict):
        CONNECTOR.fetch(
            config,
            months(config)[MAY],
            Fetch(tmp_path, replace_second),
        )


# Test connection


def titles(config: AwsBucketConfig) -> list[tuple[str, bool]]:
    return [(each.title, each.is_ok) for each in CONNECTOR.check(config)]


def test_a_check_tries_each_permission_in_turn(config: AwsBucketConfig, export: DataExport) -> None:
    name = export.s3_bucket.name
    assert titles(config)[-1] == ("Find the export's manifests", False)

    export.deliver("2026-05", {"1.csv.gz": as_csv_gz(focus_rows()[:9])})

    assert titles(config) == [
        ("Sign in to AWS", True),
        ("Reach the bucket's address", True),
        (f"List s3://{name}/exports", True),
        ("Find the export's manifests", True),
        ("Read focus/metadata/BILLING_PERIOD=2026-05/focus-Manifest.json", True),
        ("Find the files of 2026-05", True),
        ("Read a file and detect its format", True),
    ]


def test_a_permission_that_is_missing_is_named(config: AwsBucketConfig, export: DataExport) -> None:
    export.deliver("2026-05", {"1.csv.gz": as_csv_gz(focus_rows()[:9])})
    deny(export.s3_bucket, "s3:GetObject")

    failed = CONNECTOR.check(config)[-1]

    assert failed.title == "Read focus/metadata/BILLING_PERIOD=2026-05/focus-Manifest.json"
    assert failed.fix.startswith("The access key …test is not allowed s3:GetObject on arn:aws:s3:::")


def test_a_permission_that_is_taken_away_while_a_month_is_read_is_named(
    config: AwsBucketConfig, export: DataExport, tmp_path: Path
) -> None:
    export.deliver("2026-05", {"1.csv.gz": b"one", "2.csv.gz": b"two"})

    with pytest.raises(SourceError, match=r"not allowed s3:GetObject on .*/2\.csv\.gz"):
        CONNECTOR.fetch(
            config,
            months(config)[MAY],
            Fetch(tmp_path, lambda _bytes: deny(export.s3_bucket, "s3:GetObject")),
        )


@pytest.mark.parametrize(
    ("content", "columns", "text"),
    [
        (
            gzip.compress(b"carbon_kg,day\n1,2\n", mtime=0),
            focus_rows()[0],
            "2 columns, which are not those of CUR and FOCUS",
        ),
        (b"PAR1 and so on", ["carbon_kg"], "1 columns, which are not those of CUR and FOCUS"),
        (b"PK\x03\x04", [], "is not a complete ZIP archive"),
        (b"BilledCost,ChargePeriodStart", [], "neither gzip, ZIP nor Parquet"),
        (b"\x1f\x8b\x08 cut off", [], "not a complete gzip file"),
    ],
)
def test_a_file_that_is_no_cost_is_found_by_the_check(
    config: AwsBucketConfig, export: DataExport, content: bytes, columns: list[str], text: str
) -> None:
    url = export.put_file("2026-05", "1.csv.gz", content)
    export.put_manifest("2026-05", [url], columns=[{"name": name} for name in columns])

    assert text in CONNECTOR.check(config)[-1].fix


def deny(s3_bucket: S3TestBucket, action: str) -> None:
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": action,
        "Resource": [f"arn:aws:s3:::{s3_bucket.name}", f"arn:aws:s3:::{s3_bucket.name}/*"],
    }
    s3_bucket.client.put_bucket_policy(
        Bucket=s3_bucket.name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    )

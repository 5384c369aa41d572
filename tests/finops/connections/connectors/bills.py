"""Exports laid out as providers do it, in a bucket of a real S3 server; and sums that share no code with the product."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.finops.connections.conftest import S3TestBucket

FOCUS = Path("tests/data/focus/synthetic/focus_1_2_cost_and_usage_aws.csv.gz")
GROUPS = ("ServiceName", "SubAccountId", "BillingPeriodStart", "BillingCurrency")
Row = dict[str, str]
SumsByGroup = dict[tuple[str, ...], tuple[Decimal, Decimal]]


def focus_rows() -> list[Row]:
    return read_csv(FOCUS.read_bytes())


def read_csv(data: bytes) -> list[Row]:
    return list(csv.DictReader(io.StringIO(gzip.decompress(data).decode())))


def of_month(rows: Iterable[Row], month: str, factor: str = "1") -> list[Row]:
    """The rows as those of another billing month, their amounts multiplied."""
    return [
        {
            **row,
            **{name: f"{month}{row[name][7:]}" for name in ("BillingPeriodStart", "ChargePeriodStart")},
            **{name: str(Decimal(row[name]) * Decimal(factor)) for name in ("BilledCost", "EffectiveCost")},
        }
        for row in rows
    ]


def as_csv_gz(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return gzip.compress(text.getvalue().encode(), mtime=0)


def as_parquet(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    table = pa.table({name: pa.array([row[name] or None for row in rows], pa.string()) for name in rows[0]})
    pq.write_table(table, sink, compression="snappy")
    return sink.getvalue()


def sums(rows: Iterable[Row], names: tuple[str, ...] = GROUPS) -> SumsByGroup:
    """Billed and effective cost by group, exact."""
    totals: SumsByGroup = defaultdict(lambda: (Decimal(0), Decimal(0)))
    with localcontext(prec=60):
        for row in rows:
            key = tuple(row[name][:7] if name == "BillingPeriodStart" else row[name] for name in names)
            billed, effective = totals[key]
            totals[key] = (billed + Decimal(row["BilledCost"]), effective + Decimal(row["EffectiveCost"]))
    return dict(totals)


@dataclass
class DataExport:
    """An export of AWS Data Exports; `execution` is its folder where it creates new files."""

    s3_bucket: S3TestBucket
    prefix: str = "exports"
    name: str = "focus"
    partition: str = "BILLING_PERIOD="

    def key(self, kind: str, month: str, file_name: str) -> str:
        parts = [self.prefix, self.name, kind, f"{self.partition}{month}", file_name]
        return "/".join(part for part in parts if part)

    def put_file(self, month: str, name: str, data: bytes, execution: str = "") -> str:
        key = self.key("data", month, f"{execution}/{name}" if execution else name)
        self.s3_bucket.put(key, data)
        return f"s3://{self.s3_bucket.name}/{key}"

    def put_manifest(self, month: str, urls: Iterable[str], execution: str = "", **more: Any) -> str:
        file_name = f"{self.name}-Manifest.json"
        key = self.key("metadata", month, f"{execution}/{file_name}" if execution else file_name)
        columns = [{"name": name, "type": "string"} for name in focus_rows()[0]]
        self.s3_bucket.put(key, json.dumps({"dataFiles": list(urls), "columns": columns, **more}).encode())
        return key

    def deliver(self, month: str, files: Mapping[str, bytes], execution: str = "") -> None:
        """As AWS does: all files, then the manifest."""
        urls = [self.put_file(month, name, data, execution) for name, data in files.items()]
        self.put_manifest(month, urls, execution)


def halves(rows: list[Row], write: Callable[[list[Row]], bytes], ending: str) -> dict[str, bytes]:
    """The rows in two files."""
    middle = len(rows) // 2
    return {f"focus-00001.{ending}": write(rows[:middle]), f"focus-00002.{ending}": write(rows[middle:])}

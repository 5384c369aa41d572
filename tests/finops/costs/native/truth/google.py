"""Google's billing export by hand. Sources: Google, “Structure of Detailed data export”; “FOCUS BigQuery view”."""

from __future__ import annotations

import ast
import gzip
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tests.finops.costs.native.truth.bills import Bill, Part, Row, csv_rows, number, parquet_rows, write_csv

SAMPLES: Final = Path(__file__).parents[4] / "data" / "native" / "google"
CATEGORIES: Final = {
    "regular": "Usage",
    "tax": "Tax",
    "adjustment": "Adjustment",
    "rounding_error": "Adjustment",
}


def records(*, detailed: bool, seed: int = 5) -> Iterator[dict[str, Any]]:
    """Lines as BigQuery's records: late lines, tax without a project, credits of several kinds, two currencies."""
    chance = random.Random(seed)
    for place in range(200):
        kind = chance.choice(["regular"] * 6 + ["tax", "adjustment", "rounding_error"])
        project = None if kind == "tax" else chance.choice(["shop-1", "search-2"])
        region = chance.choice(["us-central1", "europe-west4", None])
        credits_ = [
            {"name": name, "amount": -chance.randrange(1, 4000) / 1e6, "type": type_, "full_name": name}
            for name, type_ in (("SUD", "SUSTAINED_USAGE_DISCOUNT"), ("CUD", "COMMITTED_USAGE_DISCOUNT"))
            if kind == "regular" and chance.random() < 0.4
        ]
        start = f"2026-05-{1 + place % 28:02d}T07:00:00Z"
        line = {
            "billing_account_id": "01-23",
            "service": {"id": "6F", "description": chance.choice(["Compute Engine", "BigQuery"])},
            "sku": {"id": f"sku-{place % 7}", "description": "Core"},
            "usage_start_time": start,
            "usage_end_time": start.replace("T07", "T08"),
            "project": {"id": project, "name": project, "labels": []},
            "labels": [{"key": "env", "value": "prod"}],
            "location": {"location": region or "global", "region": region},
            "cost": chance.randrange(-5_000, 90_000) / 1e6,
            "currency": "EUR" if project == "search-2" else "USD",
            "usage": {"amount": 3600.0, "unit": "seconds"},
            "credits": credits_,
            "invoice": {"month": chance.choice(["202605", "202606"])},
            "cost_type": kind,
        }
        yield {**line, "resource": {"name": f"vm-{place % 5}", "global_name": None}} if detailed else line


def flat(record: Mapping[str, Any]) -> dict[str, str]:
    """As a CSV has it: a column for each field, lists as JSON."""
    row: dict[str, str] = {}
    for name, value in record.items():
        fields = value.items() if isinstance(value, dict) else [("", value)]
        for field, each in fields:
            text = json.dumps(each) if isinstance(each, list) else "" if each is None else str(each)
            row[f"{name}.{field}" if field else name] = text
    return row


def nested_record(row: Row) -> dict[str, Any]:
    """A record again of a row of CSV; numbers stay as they are written."""
    record: dict[str, Any] = {}
    for name, value in row.items():
        first, _, subpath = name.partition(".")
        if subpath:
            record.setdefault(first, {})[subpath] = value or None
        else:
            record[first] = value
    credits_ = record["credits"]
    try:
        record["credits"] = json.loads(credits_, parse_float=str)
    except ValueError:
        record["credits"] = ast.literal_eval(credits_)
    return record


def parts(rows: Iterator[Mapping[str, Any]]) -> Iterator[Part]:
    for row in rows:
        net = number(row["cost"]) + sum((number(each["amount"]) for each in row["credits"]), Decimal(0))
        place, month = row["location"], row["invoice"]["month"]
        yield Part(
            net,
            net,
            row["service"]["description"],
            row["project"]["id"],
            place.get("region") or place.get("location"),
            CATEGORIES[row["cost_type"]],
            f"{month[:4]}-{month[4:]}",
            row["currency"],
        )


def of_csv(files: Sequence[bytes]) -> Iterator[Part]:
    return parts(nested_record(row) for file in files for row in csv_rows(file))


def of_parquet(files: Sequence[bytes]) -> Iterator[Part]:
    return parts(row for file in files for row in parquet_rows(file))


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return sink.getvalue()


def as_json_lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """As BigQuery exports them: fields without a value are left out, times are written with their zone."""
    return b"".join(json.dumps(_without_nulls(row)).encode() + b"\n" for row in rows)


def _without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in record.items()
        if value is not None and value != {}
    }


def of_json(files: Sequence[bytes]) -> Iterator[Part]:
    for file in files:
        text = gzip.decompress(file) if file.startswith(b"\x1f\x8b") else file
        rows = [json.loads(line, parse_float=str) for line in text.splitlines()]
        yield from parts(iter({**row, "project": {"id": None, **row.get("project", {})}} for row in rows))


def json_bill(*, detailed: bool, packed: bool = False) -> Bill:
    data = as_json_lines(list(records(detailed=detailed)))
    return Bill([gzip.compress(data, mtime=0) if packed else data], of_json)


def csv_bill(*, detailed: bool) -> Bill:
    return Bill([write_csv([flat(each) for each in records(detailed=detailed)])], of_csv)


def parquet_bill(*, detailed: bool) -> Bill:
    return Bill([as_parquet(list(records(detailed=detailed)))], of_parquet)


def sample(kind: str) -> Bill:
    return Bill([(SAMPLES / f"{kind}.csv").read_bytes()], of_csv)

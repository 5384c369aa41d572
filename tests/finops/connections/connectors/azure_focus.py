"""Files of Azure's FocusCost exports by version, with every column of Microsoft's own schema of it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMAS = Path("tests/data/focus/schema")
MAY = datetime(2026, 5, 1, tzinfo=UTC)
CENT_THOUSANDTHS = Decimal("0.00001")

Line = dict[str, Any]

SCHEMA_OF = {
    "1.0": "azure_FocusCost_1.0.json",
    "1.0r2": "azure_FocusCost_1.0.json",
    "1.2-preview": "azure_FocusCost_1.2-preview.json",
}
TIME_OF = {"1.0": "%Y-%m-%dT%H:%MZ", "1.0r2": "%Y-%m-%dT%H:%M:%SZ", "1.2-preview": "%Y-%m-%dT%H:%M:%SZ"}
"""1.0r2 is 1.0 with seconds. Source: learn.microsoft.com, Cost Management, "FOCUS cost and usage details file schema"."""

TYPES = {
    "Decimal": pa.decimal128(38, 18),
    "Number": pa.int32(),
    "DateTime": pa.timestamp("ms", tz="UTC"),
    "Boolean": pa.bool_(),
    "String": pa.string(),
    "JSON": pa.string(),
}
ENUMERATED = {
    "ChargeCategory": ["Usage", "Purchase", "Adjustment"],
    "ChargeFrequency": ["Usage-Based", "One-Time"],
    "ServiceName": ["Virtual Machines", "Storage Accounts", "Azure SQL, Größe M"],
    "SubAccountId": ["/subscriptions/1", "/subscriptions/2"],
    "BillingCurrency": ["EUR"],
    "PricingCategory": ["Standard", "Committed"],
    "ProviderName": ["Microsoft"],
    "PublisherName": ["Microsoft"],
    "InvoiceIssuerName": ["Microsoft"],
    "Tags": ['{"env":"prod","cost center":"a, b"}', "", "{}"],
}


def columns(version: str) -> dict[str, str]:
    """Column -> its type."""
    schema = json.loads((SCHEMAS / SCHEMA_OF[version]).read_text())
    return {each["ColumnName"]: each["DataType"] for each in schema["Columns"]}


def lines(version: str, count: int = 60) -> list[Line]:
    chance = random.Random(version)
    types = columns(version)
    return [{name: _value(chance, name, kind) for name, kind in types.items()} for _ in range(count)]


def _value(chance: random.Random, name: str, kind: str) -> Any:
    if name in ENUMERATED:
        return chance.choice(ENUMERATED[name])
    if name.startswith(("BillingPeriod", "ChargePeriod")):
        start = MAY if name.startswith("Billing") else MAY + timedelta(days=chance.randrange(31))
        length = 31 if name.startswith("Billing") else 1
        return start + timedelta(days=length) if name.endswith("End") else start
    if kind == "Decimal":
        return chance.randrange(-1_000, 10**7) * CENT_THOUSANDTHS
    other = {"Number": 100, "Boolean": True, "DateTime": None, "JSON": "{}"}
    return other.get(
        kind, "" if name.startswith(("x_", "Commitment", "Capacity", "ChargeClass")) else f"a {name}"
    )


def as_csv(version: str, lines: list[Line]) -> bytes:
    """As Azure writes it: a mark of UTF-8, CRLF, gzip."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns(version)), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _text(value, TIME_OF[version]) for name, value in line.items()} for line in lines)
    return gzip.compress(b"\xef\xbb\xbf" + text.getvalue().encode())


def _text(value: Any, form: str) -> str:
    if isinstance(value, datetime):
        return value.strftime(form)
    return "" if value is None else str(value)


def as_parquet(version: str, lines: list[Line]) -> bytes:
    schema = pa.schema([(name, TYPES[kind]) for name, kind in columns(version).items()])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(lines, schema), sink, compression="snappy")
    return sink.getvalue()

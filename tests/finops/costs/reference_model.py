"""FOCUS files read as plainly as can be: Python's csv and Decimal, row by row. Shares no code with the importer."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data" / "focus"
COST_FILES = sorted(
    path.relative_to(DATA).as_posix()
    for path in DATA.rglob("*.csv*")
    if "contract_commitment" not in path.name
)
COMMITMENT_FILE = "synthetic/focus_1_3_contract_commitment_aws.csv.gz"

# What the worked examples leave out; a file's own column always wins.
DEFAULTS = {
    "BillingCurrency": "USD",
    "ProviderName": "Example Cloud",
    "ServiceName": "Example Service",
    "EffectiveCost": "@BilledCost",
    "BillingPeriodStart": "2026-05-01",
}
NOTHING = ("", "NULL", "null")

Sums = dict[Any, tuple[Decimal, Decimal]]


def read_rows(file: str) -> list[dict[str, str]]:
    path = DATA / file
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(raw.decode("utf-8-sig").splitlines()))


def missing_defaults(file: str) -> dict[str, str]:
    """Those of DEFAULTS that this file lacks."""
    columns = read_rows(file)[0]
    return {name: value for name, value in DEFAULTS.items() if name not in columns}


def value(row: dict[str, str], column: str) -> str:
    text = row.get(column, DEFAULTS.get(column, ""))
    return row[text[1:]] if text.startswith("@") else text


def amount(text: str) -> Decimal:
    bare = text.strip().replace("$", "").replace(",", "")
    return -Decimal(bare.strip("()")) if bare.startswith("(") else Decimal(bare)


def month(text: str) -> str:
    if "/" in text:
        first, _, year = text.split("/")
        return f"20{year}-{int(first):02d}"
    return text[:7]


def day(text: str) -> str:
    if "/" in text:
        first, second, year = text.split("/")
        return f"20{year}-{int(first):02d}-{int(second):02d}"
    return text[:10]


def tags(row: dict[str, str]) -> dict[str, str]:
    text = row.get("Tags", "")
    values: dict[str, str] = {}
    for key, tag in ({} if text in NOTHING else json.loads(text)).items():
        if tag not in (None, *NOTHING):
            values.setdefault(key.strip(), tag if isinstance(tag, str) else json.dumps(tag))
    return values


def sums(file: str, by: str) -> Sums:
    """Billed and effective cost by `service`, `month`, `day`, `currency`, `all` or `tag:<key>`; exact."""
    totals: Sums = defaultdict(lambda: (Decimal(0), Decimal(0)))
    with localcontext(prec=60):
        for row in read_rows(file):
            key, (billed, effective) = _key(row, by), totals[_key(row, by)]
            totals[key] = (
                billed + amount(value(row, "BilledCost")),
                effective + amount(value(row, "EffectiveCost")),
            )
    return dict(totals)


def tag_keys(file: str) -> set[str]:
    return {key for row in read_rows(file) for key in tags(row)}


def _key(row: dict[str, str], by: str) -> str | None:
    if by == "all":
        return None
    if by.startswith("tag:"):
        return tags(row).get(by.removeprefix("tag:"))
    key = {
        "service": lambda: value(row, "ServiceName"),
        "month": lambda: month(value(row, "BillingPeriodStart")),
        "day": lambda: day(row.get("ChargePeriodStart") or value(row, "BillingPeriodStart")),
        "currency": lambda: value(row, "BillingCurrency"),
    }[by]()
    return None if key in NOTHING else key

"""Every sum over every file we have equals a plain computation, to the last digit."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest

from finops.costs.focus.normalise import FocusFile, Normalised, normalise
from finops.lake.schema import tag_column
from tests.finops.costs import plain

COLUMNS = {"service": "service", "month": "billing_period", "day": "charge_date", "currency": "currency"}


def imported(file: str, folder: Path) -> Normalised:
    defaults = plain.needed_defaults(file)
    return normalise([FocusFile(plain.DATA / file, file)], folder=folder, source_id="7", defaults=defaults)


def sums(found: Normalised, by: str) -> plain.Sums:
    totals: plain.Sums = defaultdict(lambda: (Decimal(0), Decimal(0)))
    column = tag_column(by.removeprefix("tag:")) if by.startswith("tag:") else COLUMNS.get(by)
    with localcontext(prec=60):
        for row in (row for month in found.months for batch in month.batches() for row in batch.to_pylist()):
            key = _key(row, column)
            billed, effective = totals[key]
            totals[key] = (billed + row["billed_cost"], effective + row["effective_cost"])
    return dict(totals)


def _key(row: dict[str, Any], column: str | None) -> str | None:
    value = row[column] if column else None
    return f"{value:%Y-%m}" if column == "billing_period" else value if value is None else str(value)


@pytest.mark.parametrize("file", plain.COST_FILES)
@pytest.mark.parametrize("by", ["all", "service", "month", "day", "currency"])
def test_sums_equal_a_plain_computation(file: str, by: str, tmp_path: Path) -> None:
    assert sums(imported(file, tmp_path), by) == plain.sums(file, by)


@pytest.mark.parametrize("file", [file for file in plain.COST_FILES if plain.tag_keys(file)])
def test_sums_by_every_tag_equal_a_plain_computation(file: str, tmp_path: Path) -> None:
    found = imported(file, tmp_path)
    keys = plain.tag_keys(file)
    assert {key: sums(found, f"tag:{key}") for key in keys} == {
        key: plain.sums(file, f"tag:{key}") for key in keys
    }


def test_every_file_we_have_is_tested() -> None:
    assert len(plain.COST_FILES) == 34

"""Lumenly's bills as FOCUS 1.2 Parquet files.

A month is generated from its first day on, each day from its own seed, so a day's lines are the same whatever day they are
generated. Quantities are whole 1e-3, prices whole 1e-9, so every cost is exact in 1e-12.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from finops.demo.charges import charges_on, tax_on
from finops.demo.commitments import COMMITMENTS, settle
from finops.demo.company import VENDORS
from finops.demo.fleet import lines_of
from finops.demo.lines import ResourceLine
from finops.demo.rows import Rows
from finops.demo.scenario import NOISE, SHAPES, anomaly_factors
from finops.demo.templates import SCHEMA
from finops.lib.periods import add_months, month_start

MONTHS = 14


@dataclass(frozen=True)
class SourceFile:
    """One vendor's file; `billed`: billed cost by the first day of a billing month and charge category."""

    source: str
    path: Path
    rows: int
    billed: dict[date, dict[str, Decimal]]


def first_day(today: date, months: int = MONTHS) -> date:
    """Return the first day of that many months, this one the last: 14, so that this and the last have one a year before."""
    return add_months(today, 1 - months)


def _quantity(line: ResourceLine, volume: float, noise: float, surprise: float) -> int:
    """The day's quantity in 1e-3. `volume` is the shape's value, `noise` from -1 to 1."""
    if line.pool_size:
        volume = min(1.0, max(0.0, line.pool_size * volume - line.rank)) if _scales(line) else volume
    return round(line.base * volume * (1 + noise * NOISE[line.shape]) * surprise * 1000)


def _scales(line: ResourceLine) -> bool:
    return line.shape not in ("always", "office")


def usage_on(source: str, day: date) -> list[tuple[ResourceLine, int]]:
    """Every line that has a quantity on that day, and the quantity in 1e-3."""
    rng = random.Random(f"lumenly/{source}/{day}")  # noqa: S311 demo data, no secret
    volumes = {shape: value(day) for shape, value in SHAPES.items()}
    odd = anomaly_factors(day)
    usage: list[tuple[ResourceLine, int]] = []
    for line in lines_of(source):
        noise = rng.random() * 2 - 1
        if line.pool_size and _scales(line):
            noise = 0.0
        quantity = _quantity(line, volumes[line.shape], noise, odd.get(line.workload, 1.0))
        if quantity > 0:
            usage.append((line, quantity))
    return usage


def _add_day(rows: Rows, source: str, day: date) -> None:
    usage = usage_on(source, day)
    covered: dict[int, int] = {}
    for commitment in COMMITMENTS:
        if commitment.source != source:
            continue
        eligible = [(line, quantity) for line, quantity in usage if line.sku.plan == commitment.plan]
        settled = settle(commitment, day, eligible)
        rows.add_commitment(settled, day)
        for part in settled.covered:
            covered[id(part.line)] = covered.get(id(part.line), 0) + part.quantity
    for line, quantity in usage:
        uncovered = quantity - covered.get(id(line), 0)
        if uncovered > 0:
            rows.add_usage(line, uncovered, day)
    for charge in charges_on(source, day):
        rows.add_charge(charge, day)


def month_rows(source: str, month: date, end: date) -> pa.Table:
    """A vendor's lines of one billing month, from its first day up to `end` or the month's own end."""
    rows, day = Rows(source), month
    last = add_months(month, 1) - timedelta(days=1)
    while day <= min(end, last):
        _add_day(rows, source, day)
        day += timedelta(days=1)
    if end >= last:
        tax = tax_on(VENDORS[source], last, rows.billed_total)
        if tax:
            rows.add_charge(tax, last)
    return rows.table()


def months_between(start: date, end: date) -> Iterator[date]:
    month = month_start(start)
    while month <= end:
        yield month
        month = add_months(month, 1)


def write_source(
    source: str, path: Path, start: date, end: date, *, late: Mapping[date, str] | None = None
) -> SourceFile:
    """Write a vendor's lines from start's month up to end as one Parquet file, a row group a month.

    `late`: descriptions of charges, by month, that the file lacks as yet. `SourceFile.billed` has them.
    """
    count = 0
    billed: dict[date, dict[str, Decimal]] = {}
    with pq.ParquetWriter(path, SCHEMA[source], compression="zstd") as writer:
        for month in months_between(start, end):
            table = month_rows(source, month, end)
            sums = table.group_by("ChargeCategory").aggregate([("BilledCost", "sum")])
            billed[month] = {row["ChargeCategory"]: row["BilledCost_sum"] for row in sums.to_pylist()}
            if late and month in late:
                table = table.filter(pc.not_equal(table["ChargeDescription"], late[month]))
            writer.write_table(table)
            count += table.num_rows
    return SourceFile(source, path, count, billed)

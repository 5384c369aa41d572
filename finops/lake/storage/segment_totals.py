"""Totals of a segment of cost, read from its file: an import compares its own lines with them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

from accounts.models import Account
from finops.lake.engine import compiler, engine
from finops.lake.models import LakeSegment
from finops.lake.storage.manifest import SegmentFile
from finops.lake.storage.segments import NewSegment
from finops.lib.money import exact_sum

logger = logging.getLogger(__name__)

_KEYS = ("currency", "provider", "charge_date")
_AMOUNTS = ("billed_cost", "effective_cost")


@dataclass(frozen=True)
class SegmentTotals:
    """Lines, billed and effective cost by currency; the days with lines, and the providers of the bill."""

    sums: dict[str, tuple[int, Decimal, Decimal]]
    days: frozenset[date]
    providers: frozenset[str]


def totals_of(account: Account, segments: Iterable[LakeSegment | NewSegment]) -> dict[str, SegmentTotals]:
    """Return the totals by path; files that cannot be read are left out and logged. Cost: 0.1 s a million lines."""
    totals = {}
    for segment in segments:
        try:
            totals[segment.path] = _totals(account, segment)
        except Exception:  # errors of DuckDB, Arrow and the storage: a damaged file must not prevent the replacement of its month
            logger.exception("lake: segment %s cannot be read, so nothing is held against it", segment.path)
    return totals


def _totals(account: Account, segment: LakeSegment | NewSegment) -> SegmentTotals:
    file = SegmentFile(segment.path, segment.checksum, frozenset(segment.columns))
    statement = partial(compiler.sums_sql, keys=_KEYS, amounts=_AMOUNTS)
    with engine.read_batches([file], statement, account=account) as reader:
        rows = reader.read_all().to_pylist()
    by_currency: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_currency[row["currency"]].append(row)
    return SegmentTotals(
        sums={
            currency: (
                sum(row["lines"] for row in some),
                exact_sum(row["billed_cost"] for row in some),
                exact_sum(row["effective_cost"] for row in some),
            )
            for currency, some in by_currency.items()
        },
        days=frozenset(row["charge_date"] for row in rows),
        providers=frozenset(row["provider"] for row in rows if row["provider"]),
    )

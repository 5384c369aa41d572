"""Restatements by providers since an answer: by source and month, and by line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from accounts.models import Account
from finops.costs.models import CostSource
from finops.costs.queries.bill_versions import VersionLine, version_lines
from finops.lake.models import LakeSegment
from finops.lake.storage.manifest import LiveSegment, Manifest
from finops.lake.storage.month_versions import MonthVersions, compare_lines, segments_at
from finops.lib import clock
from finops.lib.answers import group_by
from finops.lib.money import exact_difference, exact_sum

MAX_MONTHS: Final = 12
MAX_LINES: Final = 10

_Month = tuple[int, date]
"""A source and a billing month."""


# A billing month whose bill was replaced since the answer. `reason`: why there are no amounts.
class BillRestatement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    source: str
    month: str
    currency: str = ""
    billed_then: Decimal | None = None
    billed_now: Decimal | None = None
    billed_change: Decimal | None = None
    amortized_then: Decimal | None = None
    amortized_now: Decimal | None = None
    amortized_change: Decimal | None = None
    reason: str = ""


@dataclass(frozen=True)
class Restatements:
    """Restated months, newest first; `left_out` is the number of further months. `lines` are the largest changes."""

    months: Sequence[BillRestatement] = ()
    lines: Sequence[VersionLine] = ()
    left_out: int = 0


@dataclass
class _MonthFiles:
    """The files of a month at the time of the answer, and the current ones."""

    then: list[LiveSegment] = field(default_factory=list)
    now: list[LiveSegment] = field(default_factory=list)


def restatements(
    account: Account, then: Manifest, now: Manifest, days: tuple[date, date] | None
) -> Restatements:
    """Return the months with cost on these days (inclusive; None: any) whose files have changed. One query, and one
    scan of both versions of each of the newest MAX_MONTHS months. Raises LakeUnavailable."""
    replaced = _replaced_months(then, now, days)
    names = dict(CostSource.objects.values_list("pk", "name"))
    newest = sorted(replaced, key=lambda key: (key[1], -key[0]), reverse=True)[:MAX_MONTHS]
    paths = [each.path for key in newest for each in (*replaced[key].then, *replaced[key].now)]
    stored = segments_at(account, paths) if paths else {}
    months: list[BillRestatement] = []
    lines: list[VersionLine] = []
    for key in newest:
        name, month = names.get(key[0], f"source {key[0]}"), f"{key[1]:%Y-%m}"
        compared = _compare(account, replaced[key], stored)
        if compared is None:
            months.append(
                BillRestatement(source=name, month=month, reason="The bill of that day was removed.")
            )
            continue
        sums, largest = compared
        months += _sums_of(name, month, sums)
        lines += version_lines(largest)
    lines.sort(key=lambda each: abs(exact_difference(each.billed_after, each.billed_before)), reverse=True)
    return Restatements(months, lines[:MAX_LINES], len(replaced) - len(newest))


def months_of(account: Account, segments: Iterable[LiveSegment]) -> list[str]:
    """Return `2026-09 of 'AWS'` for each source and month. One query."""
    names = dict(CostSource.objects.filter(account=account).values_list("pk", "name"))
    keys = sorted({(each.month, each.source_id) for each in segments})
    return [f"{month:%Y-%m} of {names.get(source, 'a deleted source')!r}" for month, source in keys]


def _replaced_months(
    then: Manifest, now: Manifest, days: tuple[date, date] | None
) -> Mapping[_Month, _MonthFiles]:
    first, last = days or (date.min, date.max)
    months: dict[_Month, _MonthFiles] = {}
    touched: set[_Month] = set()
    before, after = ({each.path for each in side.all_segments} for side in (then, now))
    for manifest, paths in ((then, after), (now, before)):
        for each in manifest.all_segments:
            key = each.source_id, each.month
            month = months.setdefault(key, _MonthFiles())
            (month.then if manifest is then else month.now).append(each)
            if each.path not in paths and each.first_day <= last and each.last_day >= first:
                touched.add(key)
    return {key: months[key] for key in touched}


def _compare(
    account: Account, month: _MonthFiles, stored: Mapping[str, LakeSegment]
) -> tuple[pa.Table, pa.Table] | None:
    """Return the sums and the largest changed lines; None if an earlier file was deleted."""
    then, now = ([stored.get(each.path) for each in side] for side in (month.then, month.now))
    before, after = ([each for each in side if each is not None] for side in (then, now))
    if len(before) < len(then):
        return None
    version = MonthVersions(0, clock.now(), tuple(before), tuple(after))
    return compare_lines(account, [version], most=MAX_LINES)


def _sums_of(source: str, month: str, sums: pa.Table) -> list[BillRestatement]:
    by_currency = group_by(sums.to_pylist(), lambda row: row["currency"])
    restated = []
    for currency, rows in sorted(by_currency.items()):
        billed_then, billed_now, amortized_then, amortized_now = (
            exact_sum(row[name] for row in rows)
            for name in ("billed_before", "billed_after", "effective_before", "effective_after")
        )
        restated.append(
            BillRestatement(
                source=source,
                month=month,
                currency=currency,
                billed_then=billed_then,
                billed_now=billed_now,
                billed_change=exact_difference(billed_now, billed_then),
                amortized_then=amortized_then,
                amortized_now=amortized_now,
                amortized_change=exact_difference(amortized_now, amortized_then),
            )
        )
    return restated

"""What was saved after acting: the cost of the same scope before and after, by the bills. Pure but for one read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec

from finops.insights.models import SavingsDismissal
from finops.insights.savings.answers import Realised
from finops.insights.savings.candidates import WINDOW_DAYS, Scope, part
from finops.insights.savings.lake import OutcomeBuild
from finops.insights.savings.recommendations import Reader
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange

SETTLING_DAYS: Final = 14
"""A change takes a day or two and weeks differ: two whole weeks of bills are the least to compare."""

CAVEAT: Final = (
    "The same resources' cost for 30 days before and after, both by the bills; growth and everything else that changed is "
    "in it, and what took their place under other ids is not."
)

WASTE_CAVEAT: Final = (
    "What the commitment left unused for 30 days before and after, by the bills. It is paid for either way, so less waste "
    "is no saving; what the usage under it cost before is."
)


@dataclass(frozen=True)
class ActedRecommendation:
    """A recommendation that was acted on, and whose cost that concerns."""

    key: str
    day: date
    scope: Scope


def acted_recommendation(row: SavingsDismissal) -> ActedRecommendation | None:
    if row.acted_on is None:
        return None
    return ActedRecommendation(row.key, row.acted_on, msgspec.convert(row.scope, Scope))


def outcomes(read: Reader, rows: Iterable[SavingsDismissal]) -> dict[str, Realised]:
    """By key, for all that was acted on. No lake query while nothing was long enough ago, else one."""
    acted = [each for each in map(acted_recommendation, rows) if each is not None]
    source_days = {each.key: _source_days(read, each) for each in acted}
    measurable = [each for each in acted if not _gap(each, source_days[each.key])]
    sums: Sequence[Mapping[str, Any]] = []
    if measurable:
        first = min(each.day for each in measurable) - timedelta(days=WINDOW_DAYS)
        last = max(days.end for days in source_days.values() if days is not None)
        sums = read(DateRange(first, last), _build(measurable))
    return {each.key: _outcome(each, sums, source_days[each.key]) for each in acted}


def _source_days(read: Reader, each: ActedRecommendation) -> DateRange | None:
    """The complete days of its own source."""
    coverage = read.sources.coverage
    source = int(each.scope.source)
    span, through = coverage.sources.get(source), coverage.last_complete_days.get(source)
    return DateRange(span.first_day, through) if span and through else None


def _gap(each: ActedRecommendation, days: DateRange | None) -> str:
    """Why the two sides cannot be compared; empty when they can."""
    if days is None:
        return "The bills of its source are gone."
    if days.end < _measurable_on(each):
        return f"Too new: two whole weeks of bills after {each.day} are needed, those through {_measurable_on(each)}."
    if each.day - timedelta(days=WINDOW_DAYS) < days.start:
        return f"The bills begin on {days.start}, less than {WINDOW_DAYS} days before."
    return ""


def _measurable_on(each: ActedRecommendation) -> date:
    return each.day + timedelta(days=SETTLING_DAYS)


def _build(acted: Sequence[ActedRecommendation]) -> OutcomeBuild:
    resources = {name for each in acted for name in each.scope.resources}
    commitments = {each.scope.commitment for each in acted} - {""}
    return OutcomeBuild(tuple(sorted(resources)), tuple(sorted(commitments)))


def _outcome(
    each: ActedRecommendation, sums: Sequence[Mapping[str, Any]], days: DateRange | None
) -> Realised:
    """The day of acting itself is in neither side. After: at most the newest 30 days."""
    currency, gap = each.scope.currency, _gap(each, days)
    if gap or days is None:
        return Realised(before=None, after=None, saved=None, currency=currency, reason=gap)
    before = DateRange(each.day - timedelta(days=WINDOW_DAYS), each.day - timedelta(days=1))
    newest = max(each.day + timedelta(days=1), days.end - timedelta(days=WINDOW_DAYS - 1))
    ours = [row for row in sums if _is_of(row, each.scope)]
    past, since = _monthly(ours, before), _monthly(ours, DateRange(newest, days.end))
    less = exact_difference(past, since)
    if each.scope.commitment:
        return Realised(
            before=past, after=since, saved=None, waste_avoided=less, currency=currency, reason=WASTE_CAVEAT
        )
    return Realised(before=past, after=since, saved=less, currency=currency, reason=CAVEAT)


def _is_of(row: Mapping[str, Any], scope: Scope) -> bool:
    if (row["source"], row["currency"]) != (scope.source, scope.currency):
        return False
    if scope.compute:
        return bool(row["covers"])
    if scope.commitment:
        return bool(row["commitment"] == scope.commitment)
    return row["resource"] in scope.resources


def _monthly(rows: Iterable[Mapping[str, Any]], days: DateRange) -> Decimal:
    inside = [row["cost"] or Decimal(0) for row in rows if days.start <= row["charge_date"] <= days.end]
    return part(ratio(exact_sum(inside), Decimal(days.days)) or Decimal(0), Decimal(WINDOW_DAYS))

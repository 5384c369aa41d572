"""The expected cost of a period: the actual cost of complete days plus the forecast of the others. Pure.

Days that only some sources have completed count with their cost so far plus the expected cost of the other sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from finops.costs.coverage import Coverage
from finops.lib.forecasting import Band, Forecast, Unforecastable, forecast
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange

HISTORY_DAYS: Final = 365
"""Days before today that a forecast reads: they cover the weekly pattern, month ends, and a year of them."""

ByDay = Mapping[date, Decimal]


@dataclass(frozen=True)
class CostPart:
    """The daily cost of sources with the same last complete day (`end`); None where that day is unknown."""

    end: date | None
    costs: ByDay
    one_time: ByDay = field(default_factory=dict)
    """The part of the costs that is one-time charges."""


@dataclass(frozen=True)
class CompletedCosts:
    """The daily cost of all sources as if all were complete to the same day. `slack` is the possible error, over the
    days of the period, of the expected part."""

    costs: ByDay
    slack: Decimal = Decimal(0)


def complete_days(coverage: Coverage, day: date) -> list[date]:
    """Return the complete days of the year before `day`, in order. Late sources are estimated up to them."""
    through = coverage.complete_through_for_most
    if through is None:
        return []
    first = day - timedelta(days=HISTORY_DAYS)
    ordinals: set[int] = set()
    for span in coverage.covered:
        start, end = max(span.start, first), min(span.end, through)
        ordinals.update(range(start.toordinal(), end.toordinal() + 1))
    return [date.fromordinal(each) for each in sorted(ordinals)]


def total_by_day(parts: Sequence[CostPart]) -> dict[date, Decimal]:
    """Return the cost of each day over all parts."""
    return _sum_by_day(part.costs for part in parts)


def one_time_by_day(parts: Sequence[CostPart]) -> dict[date, Decimal]:
    """Return the one-time charges of each day over all parts."""
    return _sum_by_day(part.one_time for part in parts)


def _sum_by_day(amounts: Iterable[ByDay]) -> dict[date, Decimal]:
    days: dict[date, list[Decimal]] = {}
    for each in amounts:
        for day, amount in each.items():
            days.setdefault(day, []).append(amount)
    return {day: exact_sum(day_amounts) for day, day_amounts in sorted(days.items())}


def complete_late_days(
    parts: Sequence[CostPart], covered: Sequence[date], through: date, since: date, period: DateRange
) -> CompletedCosts:
    """Return the cost up to `through`, plus the expected cost of sources whose last complete day is earlier. Sources
    complete only to before `since` have stopped and get none. A day has at least its actual cost; one-time charges
    are added to the expectation. `covered` are the days that have data, in order. Our rule, because no bill says when
    it is complete (docs/adr/0018)."""
    costs, slack = total_by_day(parts), Decimal(0)
    for part in parts:
        if part.end is None or not since <= part.end < through:
            continue
        expected = _forecast_part(part, covered, through)
        if expected is None:
            continue
        for offset, mean in enumerate(expected.means):
            day = part.end + timedelta(days=1 + offset)
            here = exact_difference(part.costs.get(day, Decimal(0)), part.one_time.get(day, Decimal(0)))
            missing = exact_difference(mean, here)
            if missing > 0:
                costs[day] = exact_sum([costs.get(day, Decimal(0)), missing])
        slack = exact_sum([slack, _half_width(expected, period)])
    return CompletedCosts(dict(sorted(costs.items())), slack)


def _forecast_part(part: CostPart, covered: Sequence[date], through: date) -> Forecast | None:
    assert part.end is not None  # noqa: S101 for the type checker
    known_days = [day for day in covered if day <= part.end]
    first = next((day for day in known_days if day in part.costs), None)
    if first is None:
        return None
    history = {day: part.costs.get(day, Decimal(0)) for day in known_days if day >= first}
    result = forecast(history, DateRange(part.end + timedelta(days=1), through))
    return result if isinstance(result, Forecast) else None


def _half_width(expected: Forecast, period: DateRange) -> Decimal:
    days = DateRange(max(expected.horizon.start, period.start), min(expected.horizon.end, period.end))
    if days.start > days.end:
        return Decimal(0)
    band = expected.total(days)
    return max(exact_difference(band.upper, band.mean), exact_difference(band.mean, band.lower))


def incomplete_cost(parts: Sequence[CostPart], days: DateRange) -> Decimal:
    """Return the part of the cost of these days that is on incomplete days."""
    return exact_sum(
        amount
        for part in parts
        for day, amount in part.costs.items()
        if days.start <= day <= days.end and (part.end is None or day > part.end)
    )


NO_HISTORY: Final = "No cost in this currency to forecast from."


@dataclass(frozen=True)
class Point:
    """The expected cost of a period up to the end of a day, with its band."""

    day: date
    band: Band


@dataclass(frozen=True)
class Projection:
    """The expected cost of a period. `known_cost` is the cost of the days before the horizon; `extra` the amount by
    which a day of the horizon exceeds its forecast: a day costs at least its cost so far, and one-time charges are
    added."""

    known_cost: Decimal
    spent: Decimal
    forecast: Forecast
    extra: Mapping[date, Decimal]
    slack: Decimal = Decimal(0)
    """The possible error of the known cost, where a part of it is the expected cost of late sources."""

    @property
    def days(self) -> DateRange:
        return self.forecast.horizon

    @property
    def total(self) -> Band:
        return self._up_to(self.days.end)

    def points(self) -> list[Point]:
        """Return a point for each day of the horizon."""
        start = self.days.start
        days = (start + timedelta(days=count) for count in range(self.days.days))
        return [Point(day, self._up_to(day)) for day in days]

    def reaches(self, amount: Decimal) -> date | None:
        """Return the first day on which the expected cost of the period reaches the amount; None if it never does."""
        total = self.known_cost
        for count, mean in enumerate(self.forecast.means):
            day = self.days.start + timedelta(days=count)
            total = exact_sum([total, mean, self.extra.get(day, Decimal(0))])
            if total >= amount:
                return day
        return None

    def _up_to(self, day: date) -> Band:
        band = self.forecast.total(DateRange(self.days.start, day))
        shift = exact_sum([self.known_cost, *(extra for each, extra in self.extra.items() if each <= day)])
        mean = exact_sum([shift, band.mean])
        # The total cannot fall below the amount spent, unless the forecast itself expects credits.
        floor = min(self.spent, mean)
        lower, upper = exact_difference(band.lower, self.slack), exact_sum([band.upper, self.slack])
        return Band(mean, max(exact_sum([shift, lower]), floor), exact_sum([shift, upper]))


def project_period(
    costs: Mapping[date, Decimal],
    covered: Sequence[date],
    period: DateRange,
    *,
    as_of: date,
    through: date | None,
    late: CompletedCosts | None = None,
    one_time: Mapping[date, Decimal] | None = None,
    country: str = "",
) -> tuple[Projection | None, str]:
    """Return the projection of a period, or the reason for none: actual cost of complete days + forecast of the
    others.

    `costs` are by day in one currency; `covered` are the complete days that have data, in order: one without cost
    counts as 0. The history starts on the first day with cost, because a scope that did not exist cost nothing.
    `through` is the last complete day, before `as_of`; both are before the period's end. `late` is `costs` plus, up
    to `through`, the expected cost of sources that are complete to an earlier day only. `one_time` is the part of
    `costs` that is one-time charges. `country` selects the public holidays. Which days are complete, and what late
    sources add: our rule (docs/adr/0018).
    """
    costs_with_late, slack = (late.costs, late.slack) if late else (costs, Decimal(0))
    first = next((day for day in covered if day in costs_with_late), None)
    if through is None or first is None:
        return None, NO_HISTORY
    history = {day: costs_with_late.get(day, Decimal(0)) for day in covered if day >= first}
    horizon = DateRange(max(through + timedelta(days=1), period.start), period.end)
    result = forecast(history, horizon, country=country)
    if isinstance(result, Unforecastable):
        return None, result.reason
    days = (horizon.start + timedelta(days=count) for count in range(horizon.days))
    means = dict(zip(days, result.means, strict=True))
    extra = _extra(means, costs, one_time or {})
    known_cost = exact_sum(
        cost for day, cost in costs_with_late.items() if period.start <= day < horizon.start
    )
    spent = exact_sum(cost for day, cost in costs.items() if period.start <= day <= as_of)
    return Projection(known_cost, spent, result, extra, slack), ""


def _extra(
    means: Mapping[date, Decimal], costs: Mapping[date, Decimal], one_time: Mapping[date, Decimal]
) -> dict[date, Decimal]:
    """Return the amounts by which days exceed their forecast means. A one-time charge is added to the smallest mean
    of its weekday, because a larger mean may include it, as with a monthly fee. Our rule: a forecast of usual days
    has no one-time fees."""
    extra = {}
    for day in costs.keys() & means.keys():
        mean, once = means[day], one_time.get(day, Decimal(0))
        expected = costs[day]
        if once > 0:
            least = min(each for other, each in means.items() if other.weekday() == day.weekday())
            expected = exact_sum([max(exact_difference(costs[day], once), least), once])
        if expected > mean:
            extra[day] = exact_difference(expected, mean)
    return extra

"""What a period will cost in the end: its complete days as they are, the others as they are forecast. Pure.

Days that some sources have completed and others have not count as what is there, with what is expected of the rest.
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
"""Days before today that a forecast looks at: the weekly pattern, month ends, and a year's worth of them."""

ByDay = Mapping[date, Decimal]


@dataclass(frozen=True)
class CostPart:
    """The cost by day of sources that are complete to the same day; None: of a source of which that is not known."""

    end: date | None
    costs: ByDay
    one_time: ByDay = field(default_factory=dict)
    """What of the costs are one-time charges."""


@dataclass(frozen=True)
class CompletedCosts:
    """The cost by day of all sources as if all were complete to the same day; `slack` is by how much the expectation
    that is in it may be off, in the days of the period."""

    costs: ByDay
    slack: Decimal = Decimal(0)


def complete_days(coverage: Coverage, day: date) -> list[date]:
    """The covered days of the last year before `day` that are complete, in order; late sources are filled up to them."""
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
    """The cost of each day, of all parts."""
    return _sum_by_day(part.costs for part in parts)


def one_time_by_day(parts: Sequence[CostPart]) -> dict[date, Decimal]:
    """What of `together` are one-time charges."""
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
    """The cost to `through`, with what is expected of sources that are complete to an earlier day, but not
    before `since`: those have stopped. A day has at least what has come of it, and one-time charges beside
    it. `covered` are the days that have data, in order. Our rule, as no bill says when it is complete
    (docs/adr/0018)."""
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
            lacking = exact_difference(mean, here)
            if lacking > 0:
                costs[day] = exact_sum([costs.get(day, Decimal(0)), lacking])
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
    """What of the cost of these days is of days that are not complete."""
    return exact_sum(
        amount
        for part in parts
        for day, amount in part.costs.items()
        if days.start <= day <= days.end and (part.end is None or day > part.end)
    )


NO_HISTORY: Final = "No cost in this currency to forecast from."


@dataclass(frozen=True)
class Point:
    """The cost of a period up to a day's end, as expected, with its band."""

    day: date
    band: Band


@dataclass(frozen=True)
class Projection:
    """`known` is the cost of the period's days before the horizon; `extra` what lines of a day in the horizon are above
    its forecast: a day costs at least what it has cost already, and one-time charges come on top of what it costs."""

    known_cost: Decimal
    spent: Decimal
    forecast: Forecast
    extra: Mapping[date, Decimal]
    slack: Decimal = Decimal(0)
    """By how much what is known may be off, where some of it is expected of sources that are late."""

    @property
    def days(self) -> DateRange:
        return self.forecast.horizon

    @property
    def total(self) -> Band:
        return self._up_to(self.days.end)

    def points(self) -> list[Point]:
        """One for each day of the horizon."""
        start = self.days.start
        days = (start + timedelta(days=count) for count in range(self.days.days))
        return [Point(day, self._up_to(day)) for day in days]

    def reaches(self, amount: Decimal) -> date | None:
        """The first day on which the expected cost of the period is at least the amount."""
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
        # What is spent stays spent, unless the forecast itself sees credits coming.
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
    """The projection of a period, or why there is none: actual cost of complete days + forecast of the
    others.

    `costs` by day in one currency; `covered` the complete days that have data, in order: one of them without
    cost is 0. The history begins on the first day with cost, for what did not exist cost nothing. `through`
    is the last complete day, before `as_of`; both lie before the period's end. `late` is `costs` with what is
    expected, up to `through`, of sources that are complete to an earlier day only. `one_time` is what of
    `costs` are one-time charges. `country`: whose public holidays count. Which days are complete, and what
    late sources add: our rule (docs/adr/0018).
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
    """What days cost above their means. A one-time charge counts on top of the least that its weekday is
    expected to cost: a mean above that may have it, as of a fee of every month. Our rule: a forecast of
    usual days has no fees that came once."""
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

"""What a period will cost in the end: its complete days as they are, the others as they are forecast. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from finops.budgets.lateness import CompletedCosts
from finops.lib.forecasting import Band, Forecast, Unforecastable, forecast
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange

NO_HISTORY: Final = "The scope has had no cost in this currency to forecast from."


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
    """The projection of a period, or why there is none.

    `costs` by day in one currency; `covered` the complete days that have data, in order: one of them without cost is 0.
    The history begins on the first day with cost, for what did not exist cost nothing. `through` is the last complete
    day, before `as_of`; both lie before the period's end. `late` is `costs` with what is expected, up to `through`, of
    sources that are complete to an earlier day only. `one_time` is what of `costs` are one-time charges. `country`: whose public holidays count.
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
    means = dict(zip(_days(horizon), result.means, strict=True))
    extra = _extra(means, costs, one_time or {})
    known_cost = exact_sum(
        cost for day, cost in costs_with_late.items() if period.start <= day < horizon.start
    )
    spent = exact_sum(cost for day, cost in costs.items() if period.start <= day <= as_of)
    return Projection(known_cost, spent, result, extra, slack), ""


def _extra(
    means: Mapping[date, Decimal], costs: Mapping[date, Decimal], one_time: Mapping[date, Decimal]
) -> dict[date, Decimal]:
    """What days cost above their means. A one-time charge counts on top of the least that its weekday is expected to cost:
    a mean above that may have it, as of a fee of every month."""
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


def _days(days: DateRange) -> list[date]:
    return [days.start + timedelta(days=count) for count in range(days.days)]

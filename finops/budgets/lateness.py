"""Days that some sources have completed and others have not: what is there, with what is expected of the rest. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from finops.lib.forecasting import Forecast, forecast
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange

ByDay = Mapping[date, Decimal]


@dataclass(frozen=True)
class Part:
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


def total_by_day(parts: Sequence[Part]) -> dict[date, Decimal]:
    """The cost of each day, of all parts."""
    return _sum_by_day(part.costs for part in parts)


def one_time_by_day(parts: Sequence[Part]) -> dict[date, Decimal]:
    """What of `together` are one-time charges."""
    return _sum_by_day(part.one_time for part in parts)


def _sum_by_day(amounts: Iterable[ByDay]) -> dict[date, Decimal]:
    days: dict[date, list[Decimal]] = {}
    for each in amounts:
        for day, amount in each.items():
            days.setdefault(day, []).append(amount)
    return {day: exact_sum(day_amounts) for day, day_amounts in sorted(days.items())}


def complete_late_days(
    parts: Sequence[Part], covered: Sequence[date], through: date, since: date, period: DateRange
) -> CompletedCosts:
    """The cost to `through`, with what is expected of sources that are complete to an earlier day, but not before `since`:
    those have stopped. A day has at least what has come of it, and one-time charges beside it. `covered` are the days that have data, in order."""
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


def _forecast_part(part: Part, covered: Sequence[date], through: date) -> Forecast | None:
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


def incomplete_cost(parts: Sequence[Part], days: DateRange) -> Decimal:
    """What of the cost of these days is of days that are not complete."""
    return exact_sum(
        amount
        for part in parts
        for day, amount in part.costs.items()
        if days.start <= day <= days.end and (part.end is None or day > part.end)
    )

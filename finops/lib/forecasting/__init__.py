"""Forecasts of daily amounts. Pure: no Django, no lake; every amount in one currency."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from statistics import NormalDist

from finops.lib.forecasting.answers import PLACES, Band, DayForecast, Forecast, Unforecastable
from finops.lib.forecasting.model import fitted
from finops.lib.periods import DateRange

__all__ = ["MIN_DAYS", "Band", "DayForecast", "Forecast", "Unforecastable", "forecast"]

MIN_DAYS = 14
"""Days with data below which a weekly pattern cannot be told from chance."""


def forecast(
    history: Mapping[date, Decimal | float], horizon: DateRange, *, level: float = 0.8
) -> Forecast | Unforecastable:
    """What the days of `horizon` will cost, from the days of `history`; or why that cannot be said.

    `history` has complete days only: a day of it that is missing is a gap, a day without cost is 0. `horizon`
    begins after its last day, at once or later. `level` is the share of cases that the band should hold. The same
    history gives the same forecast. Raises ValueError for a horizon that begins inside the history.
    """
    known = sorted(history)
    if len(known) < MIN_DAYS:
        count = f"{len(known)} day{'' if len(known) == 1 else 's'}"
        return Unforecastable(f"Only {count} with data; a forecast needs at least {MIN_DAYS}.")
    first, last = known[0], known[-1]
    if horizon.start <= last:
        raise ValueError(f"The horizon begins on {horizon.start}, inside the history to {last}.")
    past = [first + timedelta(days=index) for index in range((last - first).days + 1)]
    values = [float(history[day]) if day in history else None for day in past]
    model = fitted(values, [day.weekday() for day in past])
    ahead = [horizon.start + timedelta(days=index) for index in range(horizon.days)]
    means = tuple(Decimal(model.mean(day.weekday())).quantize(PLACES) for day in ahead)
    factor = NormalDist().inv_cdf((1 + level) / 2)

    def width(asked: DateRange) -> float:
        return factor * model.spread((asked.start - last).days, asked.days)

    return Forecast(horizon, DateRange(first, last), level, "weekday means on a drifting level", means, width)

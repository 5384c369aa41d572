"""What a forecast says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

from finops.lib.money import added
from finops.lib.periods import DateRange

PLACES = Decimal("0.000000000001")
"""Amounts are rounded to the places that cost lines have, so that totals of days add up exactly."""


@dataclass(frozen=True)
class Band:
    """An expected amount, and the range that it falls into as often as the forecast's level says."""

    mean: Decimal
    lower: Decimal
    upper: Decimal


@dataclass(frozen=True)
class DayForecast(Band):
    day: date


@dataclass(frozen=True)
class Unforecastable:
    """Why there is no forecast, in a whole sentence."""

    reason: str


@dataclass(frozen=True)
class Forecast:
    """Expected amounts of the days after `history`, in the history's own unit.

    `width(days)` is half of the band of the total of some of the forecast's days; a band of a sum is not the sum of
    the days' bands, because the days' errors partly cancel.
    """

    horizon: DateRange
    history: DateRange
    level: float
    model: str
    means: tuple[Decimal, ...]
    width: Callable[[DateRange], float]

    @cached_property
    def daily(self) -> tuple[DayForecast, ...]:
        """One for each day of the horizon."""
        days = (date.fromordinal(self.horizon.start.toordinal() + index) for index in range(len(self.means)))
        bands = ((day, self.total(DateRange(day, day))) for day in days)
        return tuple(DayForecast(band.mean, band.lower, band.upper, day) for day, band in bands)

    def total(self, days: DateRange | None = None) -> Band:
        """The sum of these days of the horizon (both inside; without any: of all), with its own band.

        The mean is exactly the sum of the days' means. Raises ValueError for days outside the horizon.
        """
        asked = days or self.horizon
        if not self.horizon.start <= asked.start <= asked.end <= self.horizon.end:
            raise ValueError(
                f"{asked.start} to {asked.end} is not inside {self.horizon.start} to {self.horizon.end}."
            )
        first = (asked.start - self.horizon.start).days
        mean = added(self.means[first : first + asked.days])
        half = Decimal(self.width(asked)).quantize(PLACES)
        return Band(mean, mean - half, mean + half)

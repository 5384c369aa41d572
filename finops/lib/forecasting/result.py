"""The result types of a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from statistics import NormalDist

from finops.lib.forecasting.backtest import Accuracy, Deviations
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange

PLACES = Decimal("0.000000000001")
"""Decimals that amounts are rounded to, the same as cost lines have, so that totals of days add up exactly."""

LEAST_SHARE = Decimal("0.005")
"""A band is at least this share of its mean either way: a constant cost may still change, and the data does not show how
rarely."""

_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def amount_of(estimate: float) -> Decimal:
    return Decimal(estimate).quantize(PLACES, context=_CONTEXT)


@dataclass(frozen=True)
class Band:
    """An expected amount, and the range that it falls into in the share `level` of cases."""

    mean: Decimal
    lower: Decimal
    upper: Decimal


@dataclass(frozen=True)
class DayForecast(Band):
    day: date


@dataclass(frozen=True)
class Unforecastable:
    """The reason why there is no forecast, in a whole sentence."""

    reason: str


@dataclass(frozen=True)
class Forecast:
    """Expected amounts of days after `history`, in the history's own unit.

    `level` is the share of cases that a band should hold; `accuracy` is that of the model on this series, None where it is
    too short to test. A band of a total is not the sum of its days' bands: their errors partly cancel.
    """

    horizon: DateRange
    history: DateRange
    level: float
    model: str
    means: tuple[Decimal, ...]
    spread: Deviations
    accuracy: Accuracy | None

    @cached_property
    def daily(self) -> tuple[DayForecast, ...]:
        """The band of each day of the horizon."""
        days = [self.horizon.start + timedelta(days=index) for index in range(self.horizon.days)]
        bands = [(day, self.total(DateRange(day, day))) for day in days]
        return tuple(DayForecast(band.mean, band.lower, band.upper, day) for day, band in bands)

    def total(self, days: DateRange | None = None) -> Band:
        """Return the sum of these days of the horizon (both inclusive; without any: of all), with its own band.

        The mean is exactly the sum of the days' means; the band is mean ± z · standard deviation of the sum, z the normal
        distribution's quantile of `level`, and at least LEAST_SHARE of the mean (our rule, docs/adr/0026). Raises
        ValueError for days outside the horizon.
        """
        range_ = days or self.horizon
        if not self.horizon.start <= range_.start <= range_.end <= self.horizon.end:
            raise ValueError(
                f"{range_.start} to {range_.end} is not inside {self.horizon.start} to {self.horizon.end}."
            )
        first = (range_.start - self.horizon.start).days
        mean = exact_sum(self.means[first : first + range_.days])
        factor = NormalDist().inv_cdf((1 + self.level) / 2)
        lead = (range_.start - self.history.end).days
        least = _CONTEXT.multiply(mean.copy_abs(), LEAST_SHARE).quantize(PLACES, context=_CONTEXT)
        half = max(amount_of(factor * self.spread.of_total(lead, range_.days)), least)
        return Band(mean, exact_sum([mean, -half]), exact_sum([mean, half]))

"""The model: a level that drifts, and what each weekday differs from it. Plain Python on floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

WEEK = 7
SEASON_WEEKS = 8
SMOOTHINGS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


@dataclass(frozen=True)
class Fitted:
    """A local level with weekday effects. `deviation` is of one day's error one day ahead."""

    level: float
    weekdays: tuple[float, ...]
    smoothing: float
    deviation: float

    def mean(self, weekday: int) -> float:
        return self.level + self.weekdays[weekday]

    def spread(self, lead: int, count: int) -> float:
        """The standard deviation of the error of a total of `count` days of which the first is `lead` days ahead.

        Closed form of a local level: a day's error is its own surprise and `smoothing` of each one since the
        history's end (Hyndman et al., Forecasting with Exponential Smoothing, 2008, section 6.2).
        """
        before = (lead - 1) * (self.smoothing * count) ** 2
        inside = sum((1 + self.smoothing * later) ** 2 for later in range(count))
        return self.deviation * sqrt(before + inside)


def fitted(values: Sequence[float | None], weekdays: Sequence[int]) -> Fitted:
    """The model of days in order; None: no data."""
    effects = _weekday_effects(values, weekdays)
    plain = [
        None if value is None else value - effects[day] for value, day in zip(values, weekdays, strict=True)
    ]
    runs = [(smoothing, *_smoothed(plain, smoothing)) for smoothing in SMOOTHINGS]
    smoothing, level, deviation = min(runs, key=lambda run: run[2])
    return Fitted(level, effects, smoothing, deviation)


def _weekday_effects(values: Sequence[float | None], weekdays: Sequence[int]) -> tuple[float, ...]:
    recent = list(zip(values, weekdays, strict=True))[-SEASON_WEEKS * WEEK :]
    whole = fmean(value for value, _ in recent if value is not None)
    found = [
        [value for value, day in recent if value is not None and day == wanted] for wanted in range(WEEK)
    ]
    effects = [fmean(each) - whole if each else 0.0 for each in found]
    middle = fmean(effects)
    return tuple(effect - middle for effect in effects)


def _smoothed(values: Sequence[float | None], smoothing: float) -> tuple[float, float]:
    """The last level, and the root mean square of the errors one day ahead."""
    known = [value for value in values if value is not None]
    level = fmean(known[:WEEK])
    squares = []
    for value in known:
        error = value - level
        squares.append(error * error)
        level += smoothing * error
    return level, sqrt(fmean(squares[WEEK:] or squares))

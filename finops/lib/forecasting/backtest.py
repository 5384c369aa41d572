"""How well the model would have done on the series itself: forecasts from earlier days, against what came. Pure.

Their errors make the band, so it holds for this series what it says, whatever shape its errors have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, sqrt
from statistics import NormalDist

from finops.lib.forecasting.model import WEEK, Day, Values, fitted

STEP_DAYS = 13
"""Days between two trials: prime to the week, so that every weekday and part of the month is begun on."""

MAX_TRIALS = 20
MIN_TRAINING = 21
LENGTHS = (7, 14, 30, 60)
PRIOR_TRIALS = 3
PRIOR_DRIFT = 0.5
PRIOR_DAYS = 20
PRIOR_GROWTH = 30


@dataclass(frozen=True)
class Trial:
    """A forecast from the past, by length in days: the error of its total, the total that came, and the error of
    repeating the last week."""

    errors: dict[int, float]
    actual: dict[int, float]
    naive: dict[int, float]


def trials_of(values: Values, days: Sequence[Day]) -> list[Trial]:
    """Up to 20 forecasts from days of the last nine months. Cost: one fit each."""
    found = []
    for back in range(WEEK, WEEK + STEP_DAYS * MAX_TRIALS, STEP_DAYS):
        end = len(values) - back
        training = sum(value is not None for value in values[: max(0, end)])
        if training < max(MIN_TRAINING, len(values) // 2):
            break
        found.append(_tried(values, days, end, min(back, LENGTHS[-1])))
    return found


def _tried(values: Values, days: Sequence[Day], end: int, count: int) -> Trial:
    expected = fitted(values[:end], days[:end]).means(days[end : end + count])
    came = values[end : end + count]
    last_week = [value or 0.0 for value in values[end - WEEK : end]]
    errors = _running(
        [mean if value is None else mean - value for mean, value in zip(expected, came, strict=True)], came
    )
    naive = _running([last_week[index % WEEK] - (value or 0.0) for index, value in enumerate(came)], came)
    actual = _running([value or 0.0 for value in came], came)
    lengths = [length for length in LENGTHS if length <= count and 4 * came[:length].count(None) <= length]
    return Trial(*({length: sums[length - 1] for length in lengths} for sums in (errors, actual, naive)))


def _running(values: Sequence[float], came: Values) -> list[float]:
    """Running sums of the days that have data."""
    known = (0.0 if day is None else value for value, day in zip(values, came, strict=True))
    return list(accumulate(known))


@dataclass(frozen=True)
class Accuracy:
    """How far totals of so many days were off in trials on the series itself: the sum of the errors' sizes as a share
    of that of the actual totals (WAPE), and the same of repeating the last week. None where all totals were 0."""

    days: int
    trials: int
    error: float | None
    naive_error: float | None


def accuracy_of(trials: Sequence[Trial], days: int) -> Accuracy | None:
    """The accuracy at the tried length next to `days`; None without trials of it."""
    length = min(LENGTHS, key=lambda length: abs(length - days))
    fitting = [trial for trial in trials if length in trial.errors]
    if not fitting:
        return None
    whole = sum(abs(trial.actual[length]) for trial in fitting)
    error, naive = (
        sum(abs(errors[length]) for errors in each)
        for each in ([trial.errors for trial in fitting], [trial.naive for trial in fitting])
    )
    return Accuracy(length, len(fitting), error / whole if whole else None, naive / whole if whole else None)


@dataclass(frozen=True)
class Spread:
    """Standard deviations: `noise` of a day around its mean; `drifts` of the level itself, which all days of a total
    share, by how many days ahead the total ends."""

    noise: float
    drifts: dict[int, float]

    def of_total(self, lead: int, count: int) -> float:
        """That of a total of `count` days of which the first is `lead` days ahead."""
        return sqrt(count * self.noise**2 + (count * self._drift(lead + count - 1)) ** 2)

    def _drift(self, reach: int) -> float:
        low = max([length for length in self.drifts if length <= reach], default=LENGTHS[0])
        high = min([length for length in self.drifts if length >= reach], default=low)
        if low == high:
            return self.drifts[low] * sqrt(max(1.0, reach / low))
        share = (reach - low) / (high - low)
        return (1 - share) * self.drifts[low] + share * self.drifts[high]


def spread_of(noise: float, trials: Sequence[Trial], level: float, *, known: int) -> Spread:
    """The spread whose bands would have held in a share `level` of the trials; with few of them a cautious guess counts too.

    `known` is how many days of history there are."""
    factor = NormalDist().inv_cdf((1 + level) / 2)
    drifts, before = {}, 0.0
    doubt = PRIOR_DRIFT * (1 + PRIOR_DAYS / known)
    for length in LENGTHS:
        errors = sorted(abs(trial.errors[length]) for trial in trials if length in trial.errors)
        seen = (_quantile(errors, level) / factor) ** 2 if errors else 0.0
        guess = length * noise**2 + (length * doubt * noise) ** 2 * (1 + length / PRIOR_GROWTH)
        both = (len(errors) * seen + PRIOR_TRIALS * guess) / (len(errors) + PRIOR_TRIALS)
        before = max(before, sqrt(max(0.0, both - length * noise**2)) / length)
        drifts[length] = before
    return Spread(noise, drifts)


def _quantile(ordered: Sequence[float], level: float) -> float:
    """The value that so large a share of further ones will not exceed (split conformal prediction)."""
    return ordered[min(len(ordered), ceil(level * (len(ordered) + 1))) - 1]

"""Back-tests: forecasts of the series from earlier days, compared with the actual costs. Pure.

They select the model, and the errors of that model give the band, so the band holds for this series, whatever distribution
its errors have. An error is scaled by the change of the level since then, and recent errors weigh more (weighted conformal
prediction: Barber and others, Conformal prediction beyond exchangeability, 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from statistics import NormalDist, fmean

from finops.lib.forecasting.model import KINDS, WEEK, Day, FittedModel, Kind, Values, fit_model

STEP_DAYS = 13
"""Days between two trials: prime to the week, so that trials begin on every weekday and part of the month."""

MAX_TRIALS = 20
MIN_TRAINING = 21
LENGTHS = (7, 14, 30, 60)
PRIOR_TRIALS = 3
PRIOR_DRIFT = 0.5
PRIOR_DAYS = 20
PRIOR_GROWTH = 30
SELECTION_LENGTHS = (7, 14, 30)
MIN_TRIALS = 3
REQUIRED_ERROR_SHARE: dict[Kind, float] = {"smooth": 1.0, "trending": 0.9}
"""Another model replaces the plain one only if its error is less than this share of the plain one's, and no larger over the
LATEST trials: a slightly better trend is chance, and a model that was better only long ago followed a season that has ended."""

LATEST = 6

HALF_LIFE = 12
"""Trials after which the weight of an error is halved."""

MAX_LEVEL_GROWTH = 3.0
"""The largest factor by which an error is scaled for a changed level."""


@dataclass(frozen=True)
class Trial:
    """A forecast from an earlier day, by length in days: the error of its total, the actual total, and the error of
    repeating the last week; `by_day` has the errors of its days that have data, by days ahead."""

    errors: dict[int, float]
    actual: dict[int, float]
    naive: dict[int, float]
    by_day: tuple[tuple[int, float], ...]
    level: float


@dataclass(frozen=True)
class Trials:
    """The selected model and its forecasts from earlier days, the latest first."""

    kind: Kind
    forecasts: list[Trial]


def _best(trials: Mapping[Kind, Sequence[Trial]]) -> Kind:
    """Return the model with the smallest error over all trials and lengths, among those clearly better than the plain one."""
    plain = trials["plain"]
    if len(plain) < MIN_TRIALS:
        return "plain"
    whole, latest = _mean_error(plain), _mean_error(plain[:LATEST])
    closer: dict[Kind, float] = {
        kind: error
        for kind, share in REQUIRED_ERROR_SHARE.items()
        if (error := _mean_error(trials[kind])) < share * whole
        and _mean_error(trials[kind][:LATEST]) < latest
    }
    return min(closer, key=lambda kind: closer[kind], default="plain")


def _mean_error(trials: Sequence[Trial]) -> float:
    """The mean absolute error of totals of up to 30 days, by day, averaged over lengths and trials."""
    sizes = [
        [abs(trial.errors[each]) / each for each in SELECTION_LENGTHS if each in trial.errors]
        for trial in trials
    ]
    means = [fmean(each) for each in sizes if each]
    return fmean(means) if means else 0.0


def run_trials(values: Values, days: Sequence[Day]) -> Trials:
    """Run up to 20 forecasts from days of the last nine months with each model. Cost: one fit each for all models.

    Evaluation from a rolling origin (Tashman, Out-of-sample tests of forecasting accuracy, 2000).
    """
    trials: dict[Kind, list[Trial]] = {kind: [] for kind in KINDS}
    for back in range(WEEK, WEEK + STEP_DAYS * MAX_TRIALS, STEP_DAYS):
        end = len(values) - back
        training = sum(value is not None for value in values[: max(0, end)])
        if training < max(MIN_TRAINING, len(values) // 2):
            break
        for kind, trial in _run_trial(values, days, end, min(back, LENGTHS[-1])).items():
            trials[kind].append(trial)
    kind = _best(trials)
    return Trials(kind, trials[kind])


def _run_trial(values: Values, days: Sequence[Day], end: int, count: int) -> dict[Kind, Trial]:
    """Forecast from one day with each model and with the seasonal naive one, which repeats the last week (Hyndman and
    Athanasopoulos, Forecasting: principles and practice, 2021)."""
    model = fit_model(values[:end], days[:end])
    actual_values = values[end : end + count]
    last_week = [value or 0.0 for value in values[end - WEEK : end]]
    naive = _running_sums(
        [last_week[index % WEEK] - (value or 0.0) for index, value in enumerate(actual_values)], actual_values
    )
    actual = _running_sums([value or 0.0 for value in actual_values], actual_values)
    lengths = [
        length for length in LENGTHS if length <= count and 4 * actual_values[:length].count(None) <= length
    ]

    def trial(expected: Sequence[float]) -> Trial:
        errors = [
            None if value is None else mean - value
            for mean, value in zip(expected, actual_values, strict=True)
        ]
        running = _running_sums([error or 0.0 for error in errors], actual_values)
        return Trial(
            errors={length: running[length - 1] for length in lengths},
            actual={length: actual[length - 1] for length in lengths},
            naive={length: naive[length - 1] for length in lengths},
            by_day=tuple((ahead, error) for ahead, error in enumerate(errors, 1) if error is not None),
            level=model.level,
        )

    ahead = days[end : end + count]
    return {kind: trial(model.means(ahead, kind=kind)) for kind in KINDS}


def _running_sums(values: Sequence[float], actual_values: Values) -> list[float]:
    """Running sums of the days that have data."""
    present = (0.0 if day is None else value for value, day in zip(values, actual_values, strict=True))
    return list(accumulate(present))


@dataclass(frozen=True)
class Accuracy:
    """The error of totals of this many days in trials on the series itself: the sum of absolute errors as a share of the
    sum of actual totals (WAPE, the MAD/mean ratio of Kolassa and Schütz, 2007), and the same for repeating the last week.
    None where all totals were 0."""

    days: int
    trials: int
    error: float | None
    naive_error: float | None


def accuracy_of(trials: Sequence[Trial], days: int) -> Accuracy | None:
    """Return the accuracy at the tried length nearest to `days`; None without trials of it."""
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
class Deviations:
    """Standard deviations: `noise` of a day around its mean; `drifts` of the level, which all days of a total share, by how
    many days ahead the total ends; `daily` of a single day, by how many days ahead it is."""

    noise: float
    drifts: dict[int, float]
    daily: dict[int, float]

    def of_total(self, lead: int, count: int) -> float:
        """Return the standard deviation of a total of `count` days whose first day is `lead` days ahead: √(count · noise² +
        (count · drift)²), the variance of a sum of independent parts and of one that all of them share. The amount by which
        a single day's deviation differs from the sum of the parts counts once."""
        reach = lead + count - 1
        drift, day = _interpolate(self.drifts, reach), _interpolate(self.daily, reach)
        independent = self.noise**2 + drift**2
        return sqrt(
            max(day**2, count * self.noise**2 + (count * drift) ** 2 + (day**2 - independent) / count)
        )


def _interpolate(by_length: dict[int, float], reach: int) -> float:
    """Interpolate linearly between the lengths that were tried; beyond the longest grow with √reach, as the error of a
    random walk does (Hyndman and Athanasopoulos, 2021)."""
    low = max([length for length in by_length if length <= reach], default=LENGTHS[0])
    high = min([length for length in by_length if length >= reach], default=low)
    if low == high:
        return by_length[low] * sqrt(max(1.0, reach / low))
    share = (reach - low) / (high - low)
    return (1 - share) * by_length[low] + share * by_length[high]


def spread_of(model: FittedModel, trials: Sequence[Trial], level: float, *, history_days: int) -> Deviations:
    """Return the spread whose bands would have held in a share `level` of the trials; with few trials a cautious guess
    counts too. `history_days` is how many days of history there are.

    A standard deviation is the quantile of the absolute errors ÷ that of the normal distribution, so that the band holds
    whatever distribution the errors have; the guess and its weight are our rule (docs/adr/0026).
    """
    noise, factor = model.noise, NormalDist().inv_cdf((1 + level) / 2)
    drifts: dict[int, float] = {}
    daily: dict[int, float] = {}
    drift = day = 0.0
    doubt = PRIOR_DRIFT * (1 + PRIOR_DAYS / history_days)
    scales = [_level_growth(model.level, trial.level) for trial in trials]
    shares = [0.5 ** (index / HALF_LIFE) for index in range(len(trials))]
    weighted = list(zip(trials, scales, shares, strict=True))
    before = 0
    for length in LENGTHS:
        totals = [
            (abs(trial.errors[length]) * sqrt(scale), share)
            for trial, scale, share in weighted
            if length in trial.errors
        ]
        days = [
            (abs(error) * scale, share)
            for trial, scale, share in weighted
            for ahead, error in trial.by_day
            if before < ahead <= length
        ]
        wander = (doubt * noise) ** 2 * (1 + length / PRIOR_GROWTH)
        both = _variance(totals, len(totals), level, factor, length * noise**2 + length**2 * wander)
        drift = max(drift, sqrt(max(0.0, both - length * noise**2)) / length)
        count = sum(any(before < ahead for ahead, _error in trial.by_day) for trial in trials)
        # A day shares the level's error, and where most days are similar the exceptions still occur.
        day = max(
            day,
            sqrt(_variance(days, count, level, factor, noise**2 + wander)),
            sqrt(drift**2 + (noise / 2) ** 2),
        )
        drifts[length], daily[length], before = drift, day, length
    return Deviations(noise, drifts, daily)


def _variance(
    errors: Sequence[tuple[float, float]], trials: int, level: float, factor: float, guess: float
) -> float:
    """Return the variance of the trials' errors; a larger guess widens it, more so with fewer trials, a smaller guess never
    narrows it. A weighted mean with the guess as PRIOR_TRIALS trials, like a Bayesian prior; our rule (docs/adr/0026)."""
    if not errors:
        return guess
    observed: float = (_quantile(errors, level) / factor) ** 2
    return max(observed, (trials * observed + PRIOR_TRIALS * guess) / (trials + PRIOR_TRIALS))


def _level_growth(now: float, then: float) -> float:
    """Return the growth of the level since then, as a factor, at most MAX_LEVEL_GROWTH either way; our rule."""
    return min(MAX_LEVEL_GROWTH, max(1 / MAX_LEVEL_GROWTH, now / then)) if now > 0 and then > 0 else 1.0


def _quantile(errors: Sequence[tuple[float, float]], level: float) -> float:
    """Return the quantile of weighted sizes that this share of further errors will not exceed; a further error weighs as
    much as the heaviest (split conformal prediction: Lei and others, Distribution-free predictive inference for regression,
    2018; the weights: Barber and others, 2023)."""
    target_weight = level * (
        sum(weight for _size, weight in errors) + max(weight for _size, weight in errors)
    )
    reached = 0.0
    ordered = sorted(errors)
    for size, weight in ordered:
        reached += weight
        if reached >= target_weight - 1e-9:
            return size
    return ordered[-1][0]

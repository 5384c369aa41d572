"""The forecast model: a robust level with its trend, a difference for each weekday, and a monthly pattern.

Plain Python on floats. Medians, so that a single outlier changes nothing; sums of parts, so that zeros and negative days
(credits) need no special case. docs/adr/0026-forecasts-use-three-small-models-chosen-by-back-tests.md has the
measurements. The constants were chosen on the demo and on four public series.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from statistics import fmean, median
from typing import Literal

from finops.lib.holidays import holidays_of
from finops.lib.periods import month_end

WEEK = 7
SEASON_WEEKS = 12
MONTHS_CONSIDERED = 3
LAST_PLACES = 3
CLEAR_NOISE_MULTIPLE = 3.0
MONTH_EDGES = (1, -1)
LEVEL_DAYS = (7, 14)
TREND_WEEKS = 26
MIN_TREND_WEEKS = 13
STEADY_AGREEMENT = 0.8
DAMPING = 0.99
RECENT_WEEKS = 8
"""Weeks whose trend the trending model uses unchanged; back-tests on the series decide whether it is used."""

SMOOTH_DAYS = (7, 14, 28, 56)
SMOOTH_REACH = 0.5
"""The smooth level covers up to eight weeks and differs from the plain one by at most half the noise, so after a step it
follows as fast."""

FITTED_PARTS = 10
TO_DEVIATION = 1.4826
"""The median absolute deviation times this is the standard deviation of normal errors."""

SATURDAY, SUNDAY = 5, 6
MIN_HOLIDAYS, HOLIDAYS_AGREE, HALFWAY = 3, 2 / 3, 0.5
"""The least number of past holidays, and the least share of them that were nearer to a Sunday than to their weekday."""

Values = Sequence[float | None]
"""Amounts of days in order; None: no data."""

Kind = Literal["plain", "smooth", "trending"]
"""Which level and trend of a fitted model a forecast uses."""

KINDS: tuple[Kind, ...] = ("plain", "smooth", "trending")


@dataclass(frozen=True)
class Day:
    """A day's features in the model: its weekday and its position in the month.

    Positions count from the first of the month; the last three days count back from its end, -1 being the last.
    """

    weekday: int
    place: int
    is_holiday: bool = False


@lru_cache(maxsize=4096)
def day_of(day: date, country: str = "") -> Day:
    """Return the features of a day. `country`: whose public holidays count, if any."""
    days_left = (month_end(day) - day).days
    place = day.day if days_left >= LAST_PLACES else -1 - days_left
    return Day(day.weekday(), place, bool(country) and day in holidays_of(country, day.year))


@dataclass(frozen=True)
class FittedModel:
    """A fitted model. `level` is that of the last days, `smooth` that of up to eight weeks, `slope` its change a day if half a
    year agrees on it, `recent` the change a day of the last weeks in any case; `noise` the spread of a day around all that."""

    level: float
    smooth: float
    slope: float
    recent: float
    weekdays: tuple[float, ...]
    places: dict[int, float]
    noise: float
    holiday: float = 0.0
    """How far a holiday is between its weekday (0) and a Sunday (1); 0 where past holidays were like any weekday."""

    def season(self, day: Day) -> float:
        """Return the difference between a day and the level."""
        return self._weekday(day) + self.places.get(day.place, 0.0)

    def _weekday(self, day: Day) -> float:
        return _weekday(self.weekdays, self.holiday, day)

    def means(self, days: Sequence[Day], lead: int = 1, *, kind: Kind = "plain") -> list[float]:
        """Return the expected amounts of consecutive days, the first of which is `lead` days after the history's end: level
        + trend + season. The trend is damped, slope · (1 + φ + φ² + …) (Gardner and McKenzie, Forecasting trends in time
        series, 1985)."""
        slope = self.recent if kind == "trending" else self.slope
        level = self.smooth if kind == "smooth" else self.level
        means, growth = [], slope * sum(LEVEL_DAYS) / len(LEVEL_DAYS) / 3
        for days_ahead in range(1, lead + len(days)):
            growth += slope * DAMPING ** (days_ahead - 1)
            if days_ahead >= lead:
                day = days[days_ahead - lead]
                means.append(level + growth + self.season(day))
        return means


def fit_model(values: Values, days: Sequence[Day]) -> FittedModel:
    """Fit the model to these days. Cost: about 0.6 ms for 400 days.

    An additive decomposition like STL (Cleveland and others, 1990), with medians in place of its local regressions;
    weekdays are fitted again after the monthly pattern is removed. Our own (docs/adr/0026).
    """
    base = _bases(values)
    gaps = _subtract(values, base)
    weekdays = _weekdays(gaps, days)
    holiday = _holiday(gaps, days, weekdays)
    residuals = _subtract(gaps, [_weekday(weekdays, holiday, day) for day in days])
    places = _places(residuals, days)
    if places:
        gaps = _subtract(gaps, [places.get(day.place, 0.0) for day in days])
        weekdays = _weekdays(gaps, days)
    seasons = [_weekday(weekdays, holiday, day) + places.get(day.place, 0.0) for day in days]
    plain = _subtract(values, seasons)
    weeks = [(-index, median(each)) for index, each in enumerate(_weeks(plain)[:TREND_WEEKS]) if each]
    present = _present(plain)
    level, noise = (
        _level(present, LEVEL_DAYS),
        _noise(_present(_subtract(plain, base))[-SEASON_WEEKS * WEEK :]),
    )
    reach = SMOOTH_REACH * noise
    return FittedModel(
        level=level,
        smooth=min(level + reach, max(level - reach, _level(present, SMOOTH_DAYS))),
        slope=_slope(weeks),
        recent=_recent(weeks),
        weekdays=weekdays,
        places=places,
        noise=noise,
        holiday=holiday,
    )


def _weekday(weekdays: Sequence[float], holiday: float, day: Day) -> float:
    own = weekdays[day.weekday]
    return own + holiday * (weekdays[SUNDAY] - own) if day.is_holiday and holiday else own


def _holiday(gaps: Values, days: Sequence[Day], weekdays: Sequence[float]) -> float:
    """Return how far past holidays on working days were between their weekday and a Sunday: the median, if there were
    enough of them, most were nearer to a Sunday than to their weekday, and Sundays differ from weekdays at all. Our rule.
    """
    ways = []
    for gap, day in zip(gaps, days, strict=True):
        if gap is not None and day.is_holiday and day.weekday < SATURDAY:
            own, sunday = weekdays[day.weekday], weekdays[SUNDAY]
            ways.append((gap - own) / (sunday - own) if sunday != own else 0.0)
    like_sunday = sum(way > HALFWAY for way in ways)
    if like_sunday < max(MIN_HOLIDAYS, HOLIDAYS_AGREE * len(ways)):
        return 0.0
    return min(1.0, max(0.0, median(ways)))


def _present(values: Values) -> list[float]:
    return [value for value in values if value is not None]


def _subtract(values: Values, subtrahends: Sequence[float]) -> list[float | None]:
    return [
        None if value is None else value - subtrahend
        for value, subtrahend in zip(values, subtrahends, strict=True)
    ]


def _interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half: Tukey's midmean (Exploratory data analysis, 1977)."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    return fmean(ordered[cut : len(ordered) - cut])


def _level(values: Sequence[float], windows: Sequence[int]) -> float:
    """Return the mean of the midmeans of several windows; our rule: a window of 7 days is best on
    the demo, one of 14 on public series."""
    return fmean(_interquartile_mean(values[-count:]) for count in windows)


def _noise(residuals: Sequence[float]) -> float:
    """Return the robust spread of the residuals, larger where few days had to fit the weekdays: the median absolute
    deviation as a standard deviation (Hampel, The influence curve and its role in robust estimation, 1974)."""
    return (1 + FITTED_PARTS / len(residuals)) * TO_DEVIATION * median(abs(value) for value in residuals)


def _weeks(values: Values) -> list[list[float]]:
    """Return the values of each week that have data, counted back from the end, the last week first."""
    return [_present(values[max(0, end - WEEK) : end]) for end in range(len(values), 0, -WEEK)]


def _bases(values: Values) -> list[float]:
    """Return for each day the median of its week and the adjacent weeks."""
    weeks, count = _weeks(values), len(values)
    near = [
        [value for week in weeks[max(0, index - 1) : index + 2] for value in week]
        for index in range(len(weeks))
    ]
    lows = [median(each) if each else 0.0 for each in near]
    return [lows[(count - 1 - index) // WEEK] for index in range(count)]


def _weekdays(gaps: Values, days: Sequence[Day]) -> tuple[float, ...]:
    recent = SEASON_WEEKS * WEEK
    by_weekday: list[list[float]] = [[] for _ in range(WEEK)]
    for gap, day in zip(gaps[-recent:], days[-recent:], strict=True):
        if gap is not None:
            by_weekday[day.weekday].append(gap)
    return tuple(_interquartile_mean(each) if each else 0.0 for each in by_weekday)


def _places(residuals: Values, days: Sequence[Day]) -> dict[int, float]:
    """Return the positions of the month that stood out the same way: clearly in at least two of the last three months, or
    half as clearly in all three; the first and the last day, when fees and taxes are charged, also after a single month.
    Our rule."""
    clear = CLEAR_NOISE_MULTIPLE * _noise(_present(residuals))
    recent_values: dict[int, list[float]] = defaultdict(list)
    for value, day in zip(reversed(residuals), reversed(days), strict=True):
        if value is not None and len(recent_values[day.place]) < MONTHS_CONSIDERED:
            recent_values[day.place].append(value)
    return {place: median(each) for place, each in recent_values.items() if _recurs(place, each, clear)}


def _recurs(place: int, values: Sequence[float], clear: float) -> bool:
    if len(values) == 1:
        return place in MONTH_EDGES and abs(values[0]) > 2 * clear
    for way in (1, -1):
        sizes = sorted(way * value for value in values)
        if sizes[-2] > clear or (len(sizes) == MONTHS_CONSIDERED and sizes[0] > clear / 2):
            return True
    return False


def _slope(weeks: Sequence[tuple[int, float]]) -> float:
    """Return the change a day where weeks rise or fall steadily, else 0: the median over all pairs of weeks (Theil, 1950;
    Sen, 1968), scaled by the agreement of their order (Kendall's tau, 1938)."""
    if len(weeks) < MIN_TREND_WEEKS:
        return 0.0
    slopes = _slopes(weeks)
    agreed = abs(sum(slope > 0 for slope in slopes) - sum(slope < 0 for slope in slopes)) / len(slopes)
    sure = min(1.0, max(0.0, 2 * (agreed - STEADY_AGREEMENT) / (1 - STEADY_AGREEMENT)))
    return sure * median(slopes) / WEEK


def _recent(weeks: Sequence[tuple[int, float]]) -> float:
    """Return the change a day over the last weeks, the median over all pairs of them (Theil, 1950; Sen, 1968)."""
    recent = [each for each in weeks if each[0] > -RECENT_WEEKS]
    return median(_slopes(recent)) / WEEK if len(recent) > 2 else 0.0


def _slopes(weeks: Sequence[tuple[int, float]]) -> list[float]:
    """Return the change a week between every two weeks."""
    return [
        (last - first) / (later - earlier)
        for index, (later, last) in enumerate(weeks)
        for earlier, first in weeks[index + 1 :]
    ]

"""The model: a robust level with its trend, what each weekday differs from it, and what comes back every month.

Plain Python on floats. Medians, so that one odd day moves nothing; sums of parts, so that zeros and negative days
(credits) need no special case. docs/adr/0011-forecast.md has the measurements behind the constants.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from statistics import fmean, median

from finops.lib.periods import month_end

WEEK = 7
SEASON_WEEKS = 12
MONTHS_SEEN = 3
LAST_PLACES = 3
CLEAR = 3.0
MONTH_EDGES = (1, -1)
LEVEL_DAYS = (7, 14)
TREND_WEEKS = 26
MIN_TREND_WEEKS = 13
STEADY = 0.8
DAMPING = 0.99
RECENT_WEEKS = 8
"""Weeks whose trend the trending model takes as it is; back-tests on the series say whether it is used."""

FITTED_PARTS = 10
TO_DEVIATION = 1.4826
"""The median of absolute deviations times this is the standard deviation, where errors are normal."""

Values = Sequence[float | None]
"""Amounts of days in order; None: no data."""


@dataclass(frozen=True)
class Day:
    """What the model knows of a day: its weekday, and its place in its month.

    Places count from the first of the month; the last three days count back from its end, -1 being the last.
    """

    weekday: int
    place: int


@lru_cache(maxsize=4096)
def day_of(day: date) -> Day:
    left = (month_end(day) - day).days
    return Day(day.weekday(), day.day if left >= LAST_PLACES else -1 - left)


@dataclass(frozen=True)
class Fitted:
    """`level` is that of the last days, `slope` its change a day where half a year agrees on it, `recent` that of the last
    weeks whatever else; `noise` the spread of a day around all that."""

    level: float
    slope: float
    recent: float
    weekdays: tuple[float, ...]
    places: dict[int, float]
    noise: float

    def means(self, days: Sequence[Day], lead: int = 1, *, trending: bool = False) -> list[float]:
        """The expected amounts of consecutive days, the first of which is `lead` days after the history's end."""
        slope = self.recent if trending else self.slope
        found, done = [], slope * sum(LEVEL_DAYS) / len(LEVEL_DAYS) / 3
        for ahead in range(1, lead + len(days)):
            done += slope * DAMPING ** (ahead - 1)
            if ahead >= lead:
                day = days[ahead - lead]
                found.append(self.level + done + self.weekdays[day.weekday] + self.places.get(day.place, 0.0))
        return found


def fitted(values: Values, days: Sequence[Day]) -> Fitted:
    """The model of these days. Cost: about 0.6 ms for 400 days."""
    base = _bases(values)
    gaps = _less(values, base)
    weekdays = _weekdays(gaps, days)
    rest = _less(gaps, [weekdays[day.weekday] for day in days])
    places = _places(rest, days)
    if places:
        gaps = _less(gaps, [places.get(day.place, 0.0) for day in days])
        weekdays = _weekdays(gaps, days)
    seasons = [weekdays[day.weekday] + places.get(day.place, 0.0) for day in days]
    plain = _less(values, seasons)
    weeks = [(-index, median(each)) for index, each in enumerate(_weeks(plain)[:TREND_WEEKS]) if each]
    return Fitted(
        level=fmean(_middle(_known(plain)[-count:]) for count in LEVEL_DAYS),
        slope=_slope(weeks),
        recent=_recent(weeks),
        weekdays=weekdays,
        places=places,
        noise=_noise(_known(_less(plain, base))[-SEASON_WEEKS * WEEK :]),
    )


def _known(values: Values) -> list[float]:
    return [value for value in values if value is not None]


def _less(values: Values, taken: Sequence[float]) -> list[float | None]:
    return [None if value is None else value - less for value, less in zip(values, taken, strict=True)]


def _middle(values: Sequence[float]) -> float:
    """The mean of the middle half."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    return fmean(ordered[cut : len(ordered) - cut])


def _noise(rest: Sequence[float]) -> float:
    """The robust spread of what is left, larger where few days had to fit the weekdays."""
    return (1 + FITTED_PARTS / len(rest)) * TO_DEVIATION * median(abs(value) for value in rest)


def _weeks(values: Values) -> list[list[float]]:
    """The known values of each week, counted back from the end, the last week first."""
    return [_known(values[max(0, end - WEEK) : end]) for end in range(len(values), 0, -WEEK)]


def _bases(values: Values) -> list[float]:
    """For each day the median of its week and the weeks beside it."""
    weeks, count = _weeks(values), len(values)
    near = [
        [value for week in weeks[max(0, index - 1) : index + 2] for value in week]
        for index in range(len(weeks))
    ]
    lows = [median(each) if each else 0.0 for each in near]
    return [lows[(count - 1 - index) // WEEK] for index in range(count)]


def _weekdays(gaps: Values, days: Sequence[Day]) -> tuple[float, ...]:
    recent = SEASON_WEEKS * WEEK
    found: list[list[float]] = [[] for _ in range(WEEK)]
    for gap, day in zip(gaps[-recent:], days[-recent:], strict=True):
        if gap is not None:
            found[day.weekday].append(gap)
    return tuple(_middle(each) if each else 0.0 for each in found)


def _places(rest: Values, days: Sequence[Day]) -> dict[int, float]:
    """Places of the month that stood out the same way, clearly at least twice of the last three times or half as
    clearly all three; the first and the last day, when fees and taxes are charged, also when there was one alone."""
    clear = CLEAR * _noise(_known(rest))
    seen: dict[int, list[float]] = defaultdict(list)
    for value, day in zip(reversed(rest), reversed(days), strict=True):
        if value is not None and len(seen[day.place]) < MONTHS_SEEN:
            seen[day.place].append(value)
    return {place: median(each) for place, each in seen.items() if _returns(place, each, clear)}


def _returns(place: int, seen: Sequence[float], clear: float) -> bool:
    if len(seen) == 1:
        return place in MONTH_EDGES and abs(seen[0]) > 2 * clear
    for way in (1, -1):
        sizes = sorted(way * value for value in seen)
        if sizes[-2] > clear or (len(sizes) == MONTHS_SEEN and sizes[0] > clear / 2):
            return True
    return False


def _slope(weeks: Sequence[tuple[int, float]]) -> float:
    """The change a day where weeks rise or fall steadily, else 0: the median over all pairs of weeks (Theil-Sen),
    as far as their order agrees (Kendall's tau)."""
    if len(weeks) < MIN_TREND_WEEKS:
        return 0.0
    slopes = _slopes(weeks)
    agreed = abs(sum(slope > 0 for slope in slopes) - sum(slope < 0 for slope in slopes)) / len(slopes)
    sure = min(1.0, max(0.0, 2 * (agreed - STEADY) / (1 - STEADY)))
    return sure * median(slopes) / WEEK


def _recent(weeks: Sequence[tuple[int, float]]) -> float:
    """The change a day over the last weeks (Theil-Sen)."""
    recent = [each for each in weeks if each[0] > -RECENT_WEEKS]
    return median(_slopes(recent)) / WEEK if len(recent) > 2 else 0.0


def _slopes(weeks: Sequence[tuple[int, float]]) -> list[float]:
    """The change a week between every two."""
    return [
        (last - first) / (later - earlier)
        for index, (later, last) in enumerate(weeks)
        for earlier, first in weeks[index + 1 :]
    ]

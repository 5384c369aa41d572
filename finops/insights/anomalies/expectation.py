"""Expected cost of a day, learned from earlier days: level, weekday and place in the month.

    expected = level x weekday ratio + effect of the place in the month

* level: the median of the weekly means of the last four weeks; outliers are replaced by their expected cost.
* weekday ratio: the median of cost ÷ level over the last eight same weekdays. Both have the same lag, so that steady
  growth is part of the ratio.
* place in the month: day from the first, day from the last, and both in working days; the median over past months
  that agree.
* normal range: a multiple of the usual error of the last ten weeks, relative to the larger of expected and level.

Everything is relative, so that amounts in another currency give the same anomalies. Cost: about 50 us a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from statistics import median

WEEKS, RATIOS, ERRORS, MONTHS = 4, 8, 70, 6
QUARTERS, QUARTER_CLEAR = 4, 2.0
"""Number of past quarters compared, and how distinct a quarterly fee must be, since there are few of them."""

WIDTH = 3.6
"""Half width of the normal range, in usual errors."""

FLOOR = 0.06
"""The normal range is at least this share of the level, however steady the cost was."""

CAP = 2.0
"""The largest errors widen the normal range to at most this multiple of its width by ordinary errors."""

YOUNG_ERROR = 0.12
"""Usual error assumed for the first three weeks."""

WARM_UP = 14
FAR = 2.5
OFTEN = 0.6
"""An amount that this share of past months had on a day of the month is normal on that day."""

MEMORY = 28
"""Days for which the level before a shift is normal too, so that a return to it is not a drop."""


@dataclass(frozen=True)
class Prediction:
    """Prediction of the next day."""

    expected: float
    low: float
    high: float
    weekly: float
    level: float
    usual: tuple[float, float]
    """Normal range without what is normal only on this day of the month. The level learns from costs within it."""

    @property
    def scale(self) -> float:
        return max(self.expected, self.level)

    def is_special(self, value: float) -> bool:
        """Return whether the place in the month makes this day differ from its weekday."""
        low, high = self.usual
        excused = self.low <= value <= self.high and not low <= value <= high
        return excused or self.expected != max(0.0, self.weekly)


@dataclass(frozen=True)
class _Alternate:
    """A second normal level until a given day: expected x factor + addend."""

    until: int
    factor: float
    addend: float


@dataclass(frozen=True)
class _Effect:
    """Effect of a place in the month on a day, its uncertainty, and its support by past months.

    Disputed: past months show no such effect for another description of the place; then both levels are normal.
    """

    size: float = 0.0
    doubt: float = 0.0
    rank: tuple[float, float] = (0.0, 0.0)
    is_disputed: bool = False


_NONE = _Effect()


@lru_cache(maxsize=4096)
def places(day: date) -> tuple[tuple[str, int], ...]:
    """Return the places of a day in its month, in the ways that bills and jobs are scheduled."""
    first = day.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    remaining = (following - day).days - 1
    result = [("day", day.day), ("left", remaining)]
    if day.weekday() < 5:
        ahead = sum((first + timedelta(days=n)).weekday() < 5 for n in range(day.day))
        behind = sum((day + timedelta(days=n)).weekday() < 5 for n in range(remaining + 1))
        result += [("workday", ahead), ("workdays left", behind)]
    return tuple(result)


@lru_cache(maxsize=4096)
def quarter_places(day: date) -> tuple[tuple[str, int], ...]:
    """Return the same with the month of the quarter, for fees that come four times a year."""
    return tuple((f"quarter {day.month % 3} {kind}", count) for kind, count in places(day))


class Expectation:
    """Learns one day at a time: `predict` the next day, then `accept` its actual cost. Later days are never used."""

    def __init__(self, start: date) -> None:
        self.start = start
        self.base: list[float] = []
        self.levels: list[float] = []
        self.weeklies: list[float] = []
        self.extras: list[float] = []
        self.errors: list[float] = []
        self.acknowledged: set[int] = set()
        self._at: dict[tuple[str, int], list[int]] = {}
        self._alternates: list[_Alternate] = []

    @property
    def is_warm(self) -> bool:
        return len(self.base) >= WARM_UP

    def predict(self) -> Prediction:
        """Predict the next day: expected = level · weekday ratio + effect of the place in the month, ± max(WIDTH ·
        usual error, FLOOR) · the larger of expected and level. Ratios to a moving level are classical decomposition
        (Hyndman and Athanasopoulos, 2021), by medians; the constants are ours (docs/adr/0012)."""
        index = len(self.base)
        level = self._level(index)
        weekly = self._weekly(index, level)
        effect, normal_extras = self._effect(index, level, weekly)
        expected = max(0.0, weekly + effect.size)
        half = max(WIDTH * self._error(), FLOOR) * max(expected, level) + effect.doubt
        low, high = expected - half, expected + half
        if effect.is_disputed:
            low, high = min(low, weekly - half), max(high, weekly + half)
        for other in self._alternates:
            if index <= other.until:
                there = expected * other.factor + other.addend
                low, high = min(low, there - half), max(high, there + half)
        usual = (low, high)
        for extra in normal_extras:
            there = max(0.0, weekly + extra)
            low, high = min(low, there - half), max(high, there + half)
        return Prediction(expected, low, high, weekly, level, usual)

    def accept(
        self, value: float | None, prediction: Prediction, *, odd: bool, acknowledged: bool = False
    ) -> None:
        """Learn a day. The level uses the expected cost of an outlier instead of its actual cost; None is a day
        without data."""
        index = len(self.base)
        plain = value is not None and not odd and not prediction.is_special(value)
        base = value if plain and value is not None else prediction.weekly
        self.base.append(base)
        self.levels.append(prediction.level)
        self.weeklies.append(prediction.weekly)
        self.extras.append(0.0 if value is None else value - prediction.weekly)
        day = self.start + timedelta(days=index)
        for place in (*places(day), *quarter_places(day)):
            self._at.setdefault(place, []).append(index)
        if index == WARM_UP - 1:
            self._settle()
        if acknowledged:
            self.acknowledged.add(index)
        if value is not None and prediction.scale > 0 and index >= WARM_UP:
            error = (value - prediction.expected) / prediction.scale
            edge = (prediction.high - prediction.expected) / prediction.scale
            self.errors.append(max(-edge, min(edge, error)) if odd else error)

    def shift(self, first: int, values: Sequence[float | None], expected: Sequence[float]) -> None:
        """Replace the level from `first` on, as if it had always been the new one. `values` are the costs since then."""
        pairs = [(value, was) for value, was in zip(values, expected, strict=True) if value is not None]
        factor, addend = _level_shift(pairs)
        previous = _Alternate(len(self.base) + MEMORY, 1 / factor if factor > 0 else 1.0, -addend)
        self._alternates.append(previous)
        self.base = [max(0.0, each * factor + addend) for each in self.base[:first]] + [
            was if value is None else value for value, was in zip(values, self.base[first:], strict=False)
        ]
        self.levels = [max(0.0, each * factor + addend) for each in self.levels]
        self.weeklies = [max(0.0, each * factor + addend) for each in self.weeklies]
        self.extras = [each * factor if factor != 1.0 else each for each in self.extras]
        for index in range(first, len(self.extras)):
            self.extras[index] = 0.0

    def reference(self, back: int) -> float:
        """Return the mean of the week that ended `back` days before the newest day."""
        end = len(self.base) - back
        return sum(self.base[max(0, end - 7) : end]) / 7 if end >= 7 else 0.0

    def _settle(self) -> None:
        """Correct the first two weeks, which had no history: a day unlike the others and unlike its weekday is not
        part of the level."""
        usual = median(self.base)
        for index, cost in enumerate(list(self.base)):
            other = self.base[(index + 7) % WARM_UP]
            if cost > FAR * usual and cost > FAR * other:
                self.base[index] = other
        for index in range(7, WARM_UP):
            self.levels[index] = self._level(index)

    def _level(self, index: int) -> float:
        """Return the median of the weekly means of the last four weeks; before the first full week, the mean."""
        means = [
            sum(self.base[index - 7 * week - 7 : index - 7 * week]) / 7
            for week in range(WEEKS)
            if index >= 7 * week + 7
        ]
        if means:
            return median(means)
        return sum(self.base) / index if index else 0.0

    def _weekly(self, index: int, level: float) -> float:
        """Return level · the median of cost ÷ level over the last eight same weekdays."""
        same = range(index - 7, max(-1, index - 7 * RATIOS - 1), -7)
        ratios = [self.base[day] / self.levels[day] for day in same if self.levels[day] > 0 and day >= 7]
        if level > 0 and len(ratios) >= 2:
            return level * median(ratios)
        costs = [self.base[day] for day in same if day >= 0]
        return median(costs) if costs else level

    def _error(self) -> float:
        """Return the usual relative error: the larger of median · 1.4826 (MAD: Hampel, 1974) and 90 % quantile ÷
        1.645, both estimates of the standard deviation of normal errors; the second is at most CAP times the first.
        """
        recent = sorted(abs(error) for error in self.errors[-ERRORS:])
        if len(recent) < 7:
            return YOUNG_ERROR
        middle = recent[len(recent) // 2] * 1.4826
        usual = max(middle, min(recent[int(len(recent) * 0.9)] / 1.645, CAP * max(middle, FLOOR / WIDTH)))
        return max(usual, YOUNG_ERROR * (1 - len(recent) / 21)) if len(recent) < 21 else usual

    def _noise(self) -> float:
        """Return the usual error of ordinary days, without outliers."""
        recent = [abs(error) for error in self.errors[-ERRORS:]]
        return median(recent) * 1.4826 if len(recent) > 6 else YOUNG_ERROR

    def _effect(self, index: int, level: float, weekly: float) -> tuple[_Effect, list[float]]:
        """Return the effect of the place in the month, and what else is normal there: in most months, or marked as
        expected."""
        best, place_count, agreed_count = _NONE, 0, 0
        normal_extras: list[float] = []
        noise = 2 * self._noise() * max(level, weekly)
        for place in places(self.start + timedelta(days=index)):
            before = self._at.get(place, [])[-MONTHS:]
            extras = [self._scaled_extra(day, level) for day in before]
            normal_extras += [
                extra for day, extra in zip(before, extras, strict=True) if day in self.acknowledged
            ]
            normal_extras += _recurring_extras(extras, noise)
            effect = _common_effect(extras, noise)
            place_count += len(extras) > 1
            if effect is not None:
                agreed_count += 1
                best = effect if best is _NONE or effect.rank > best.rank else best
        if not agreed_count:
            by_quarter = self._by_quarter(index, level, noise)
            return (best, normal_extras) if by_quarter is None else (by_quarter, normal_extras)
        return replace(best, is_disputed=0 < agreed_count < place_count), normal_extras

    def _by_quarter(self, index: int, level: float, noise: float) -> _Effect | None:
        """Return the effect that two of the last three quarters, or three of four, agree on. Its absence is normal
        too: two times are few, and such fees end."""
        effects = []
        for place in quarter_places(self.start + timedelta(days=index)):
            extras = [self._scaled_extra(day, level) for day in self._at.get(place, [])[-QUARTERS:]]
            strong = [extra for extra in extras if abs(extra) > QUARTER_CLEAR * noise]
            effect = _common_effect(strong, noise) if len(strong) * 3 >= len(extras) * 2 else None
            effects += [effect] if effect else []
        return replace(max(effects, key=lambda each: each.rank), is_disputed=True) if effects else None

    def _scaled_extra(self, day: int, level: float) -> float:
        then = self.levels[day]
        return self.extras[day] * (level / then if then > 0 and level > 0 else 1.0)


def _recurring_extras(extras: Sequence[float], noise: float) -> list[float]:
    """Return the extra cost that most of at least three past months had at this place; in the others it may have been
    a weekend."""
    for sign in (1, -1):
        strong = [extra for extra in extras if extra * sign > noise]
        if len(extras) > 2 and len(strong) >= max(2, OFTEN * len(extras)):
            return [1.15 * median(strong)]
    return []


def _common_effect(extras: Sequence[float], noise: float) -> _Effect | None:
    """Return the effect that past months agree on; None if they disagree."""
    if len(extras) < 2:
        return None
    middle = median(extras) if len(extras) > 2 else min(extras, key=abs)
    similar = sum(extra * middle > 0 and abs(extra) >= abs(middle) / 2 for extra in extras)
    if abs(middle) <= noise or similar < max(2, -(-len(extras) * 3 // 4)):
        return None
    spread = median([abs(extra - middle) for extra in extras])
    return _Effect(middle, 2 * spread + 0.1 * abs(middle), (similar / len(extras), -spread / abs(middle)))


def _level_shift(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the factor, or else the addend, from expected to actual cost: the median ratio or the median difference,
    whichever has the smaller absolute error. Our rule."""
    addend = median([value - was for value, was in pairs])
    ratios = [value / was for value, was in pairs if was > 0]
    if len(ratios) * 2 <= len(pairs):
        return 1.0, addend
    factor = median(ratios)
    by_factor = sum(abs(value - was * factor) for value, was in pairs)
    by_addend = sum(abs(value - was - addend) for value, was in pairs)
    return (factor, 0.0) if by_factor <= by_addend else (1.0, addend)

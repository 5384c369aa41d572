"""Finds runs of days that cost something else than expected. Pure, and causal: a day is judged by earlier days alone,

so what was found yesterday is found again today, with the same first day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from finops.insights.anomalies.expectation import Expectation, Predicted, median
from finops.insights.anomalies.series import DROP, NEW, RAMP, SPIKE, STEP, Found, Judged, Series

EDGE = 1.0
"""A day is odd beyond the band."""

CLEAR = 1.6
"""One day alone is said when it is this many half bands away; less needs LASTING odd days."""

LASTING = 3
GAP = 2
"""So many calm days within a run do not end it: weekends."""

IDLE = 0.1
"""A day that is expected to cost less than this share of the level, and does, says nothing either way."""

ADAPT = 14
"""Days after which a new level is normal."""

STEP_DAYS = 5
"""A run this long is a new level rather than a spike."""

OUTLIER_DAYS, OFTEN, LOUDER = 120, 2, 1.3
"""Odd days of the last four months that came OFTEN are how the series is: one more, up to LOUDER, is no news, nor are some in
a row, unless it is more of them than there were, by MORE_IN_ROW."""

MORE_IN_ROW = 2

SPAN = 28
RAMP_HISTORY = 70
RAMP_FLOOR, RAMP_WIDTH = 0.2, 4.0
"""A slow ramp: the last week against the one four weeks earlier, beyond what is usual of that in the series."""


@dataclass
class _Run:
    """Odd days in a row, while they last."""

    first: int
    up: bool
    days: list[Judged] = field(default_factory=list)
    calm: list[Judged] = field(default_factory=list)
    odd: int = 0
    row: int = 0
    longest: int = 0
    usual: int = 0
    strongest: float = 0.0
    error: float = 0.0
    born: bool = False
    ramp: float = 0.0
    said: date | None = None

    def add(self, day: Judged, *, error: float = 0.0, loud: float = 0.0, usual: int = 0) -> None:
        """`loud`: an error that the series has had on other days, `usual` of them in a row; no larger, no more in a row,
        it is not clear."""
        self.row = 1 if self.calm else self.row + 1
        self.longest = max(self.longest, self.row)
        self.usual = usual
        self.days += [*self.calm, day]
        self.calm = []
        self.odd += error > loud or not loud
        self.error = max(self.error, error)
        if error > loud:
            self.strongest = max(self.strongest, abs(day.strength))
        if self.said is None and self.is_clear:
            self.said = day.day

    @property
    def is_clear(self) -> bool:
        lasts = self.odd >= LASTING or self.longest >= max(LASTING, self.usual + MORE_IN_ROW)
        return bool(self.ramp) or self.strongest >= CLEAR or lasts

    def found(self, ongoing: bool) -> Found:
        return Found(self._kind, tuple(self.days), ongoing, self.said or self.days[-1].day)

    @property
    def _kind(self) -> str:
        if self.ramp:
            return RAMP
        if not self.up:
            return DROP
        if self.born:
            return NEW
        return STEP if len(self.days) >= STEP_DAYS else SPIKE


class _Detector:
    def __init__(self, series: Series) -> None:
        self.series = series
        self.model = Expectation(series.start)
        self.judged: list[Judged | None] = []
        self.found: list[Found] = []
        self.run: _Run | None = None
        self.growths: list[float | None] = []
        self.ramp_free = 0
        self.outliers: list[tuple[int, float, int]] = []
        self.taught = {
            index
            for taught in series.taught
            for index in range(series.index(taught.first), series.index(taught.last) + 1)
        }
        self.shifts = {
            series.index(taught.last): series.index(taught.first)
            for taught in series.taught
            if taught.ongoing
        }

    def work(self) -> None:
        for index, value in enumerate(self.series.values):
            predicted = self.model.predict()
            if value is None or not self.model.is_warm:
                self.model.accept(value, predicted, odd=False)
                self.judged.append(None)
            else:
                self._judge(index, value, predicted)
            self._watch_growth(index)
        if self.run is not None:
            self._end(ongoing=True)

    def _judge(self, index: int, value: float, predicted: Predicted) -> None:
        expected, low, high = predicted.expected, predicted.low, predicted.high
        if self.run is not None and self.run.ramp:
            expected = predicted.weekly / predicted.level * self.run.ramp if predicted.level > 0 else expected
            low, high = expected - (predicted.expected - low), expected + (high - predicted.expected)
        day = Judged(self.series.day(index), value, expected, low, high)
        self.judged.append(day)
        if index in self.taught:
            self._learn(index, value, predicted)
            return
        odd = abs(day.strength) > EDGE
        in_ramp = self.run is not None and bool(self.run.ramp)
        self.model.accept(value, predicted, odd=odd and not in_ramp)
        if odd:
            self._odd(index, day, predicted)
        elif self.run is not None:
            self.run.calm.append(day)
            if sum(max(each.expected, each.actual) >= IDLE * predicted.level for each in self.run.calm) > GAP:
                self._end(ongoing=False)

    def _learn(self, index: int, value: float, predicted: Predicted) -> None:
        """A day that a person called expected."""
        if self.run is not None:
            self._end(ongoing=False)
        self.model.accept(value, predicted, odd=True, taught=True)
        if index in self.shifts:
            self._shift(self.shifts[index], index)

    def _odd(self, index: int, day: Judged, predicted: Predicted) -> None:
        up = day.excess > 0
        if self.run is not None and self.run.up != up:
            self._end(ongoing=False)
        if self.run is None:
            self.run = _Run(index, up, born=up and self._is_new(index))
        error = abs(day.excess) / predicted.scale if predicted.scale > 0 else 1.0
        loud, usual = self._often(index)
        self.run.add(day, error=error, loud=loud, usual=usual)
        if index - self.run.first + 1 >= ADAPT + (SPAN if self.run.ramp else 0):
            first, ramp = self.run.first, self.run.ramp
            self._end(ongoing=False)
            if not ramp:
                self._shift(first, index)

    def _is_new(self, index: int) -> bool:
        return not any(self.series.values[max(0, index - 2 * SPAN) : index])

    def _shift(self, first: int, last: int) -> None:
        first = max(first, 0)
        days = self.judged[first : last + 1]
        expected = [day.expected if day else 0.0 for day in days]
        self.model.shift(first, list(self.series.values[first : last + 1]), expected)
        self.ramp_free = last + SPAN

    def _end(self, *, ongoing: bool) -> None:
        assert self.run is not None  # noqa: S101 callers looked
        if self.run.is_clear:
            self.found.append(self.run.found(ongoing))
        if self.run.ramp:
            self.ramp_free = len(self.judged) + SPAN
        else:
            self.outliers.append((self.run.first, self.run.error, self.run.longest))
        self.run = None

    def _often(self, index: int) -> tuple[float, int]:
        """The error, and the odd days in a row, that the series had OFTEN times in the last four months."""
        recent = [(error, row) for when, error, row in self.outliers if when > index - OUTLIER_DAYS]
        if len(recent) < OFTEN:
            return 0.0, 0
        errors, rows = (sorted(each) for each in zip(*recent, strict=True))
        return errors[-OFTEN] * LOUDER, rows[-OFTEN]

    def _watch_growth(self, index: int) -> None:
        before, now = self.model.reference(SPAN), self.model.reference(0)
        growth = now / before if before > 0 and index >= SPAN + 14 else None
        self.growths.append(growth)
        if growth is None or self.run is not None or index < max(RAMP_HISTORY, self.ramp_free):
            return
        usual = [each for each in self.growths[index - 120 if index > 120 else 0 : index - 14] if each]
        if len(usual) < 14:
            return
        middle = median(usual)
        error = median([abs(each - middle) for each in usual]) * 1.4826
        seen = sorted(usual)[int(len(usual) * 0.95)]
        edge = max(middle + max(RAMP_FLOOR * middle, RAMP_WIDTH * error), 1 + RAMP_FLOOR, seen * 1.1)
        if growth > edge:
            self._begin_ramp(index, before * min(middle, 1.0 + RAMP_FLOOR))

    def _begin_ramp(self, index: int, level: float) -> None:
        """Look back for the first day from which cost stayed above what the level of four weeks ago foretold."""
        days: list[Judged] = []
        below = 0
        taken = {day.day for found in self.found for day in found.days}
        for each in range(index, index - SPAN, -1):
            known = self.judged[each]
            if known is None or self.model.levels[each] <= 0 or each in self.taught or known.day in taken:
                break
            expected = self.model.weeklies[each] / self.model.levels[each] * level
            half = (known.high - known.low) / 2
            if expected > IDLE * level:
                below = below + 1 if known.actual <= expected else 0
            if below > 1:
                break
            days.append(Judged(known.day, known.actual, expected, expected - half, expected + half))
        while days and days[-1].actual <= days[-1].expected:
            days.pop()
        if len(days) < 7:
            return
        self.run = _Run(index - len(days) + 1, True, ramp=level)
        for day in reversed(days):
            self.run.add(day, error=1.0)
        self.run.said = days[0].day


@dataclass(frozen=True)
class Findings:
    """What a series came to: the runs of odd days, and how each day was judged (None: no data, or too early)."""

    found: tuple[Found, ...]
    judged: tuple[Judged | None, ...]

    def between(self, first: date, last: date) -> list[Judged]:
        return [day for day in self.judged if day is not None and first <= day.day <= last]


def find(series: Series) -> Findings:
    """Judge every day of a series. About 80 us a day."""
    detector = _Detector(series)
    detector.work()
    return Findings(tuple(detector.found), tuple(detector.judged))

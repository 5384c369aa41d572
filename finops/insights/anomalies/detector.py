"""Detects runs of days whose cost is outside the expected range. Pure, in floats: the caller sums exact amounts.

The detector is causal: each day is compared with earlier days only, so that a run detected yesterday is detected
again today with the same first day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from statistics import median

from finops.insights.anomalies.expectation import Expectation, Prediction

SPIKE, STEP, RAMP, DROP, NEW = "spike", "step", "ramp", "drop", "new"


@dataclass(frozen=True)
class AcknowledgedDays:
    """Days that a person marked as expected. `ongoing`: the run had not ended then, so its level is the new normal."""

    first: date
    last: date
    ongoing: bool = False


@dataclass(frozen=True)
class Series:
    """Daily cost from `start` on; None for days without data."""

    start: date
    values: Sequence[float | None]
    acknowledged: tuple[AcknowledgedDays, ...] = ()

    def day(self, index: int) -> date:
        return self.start + timedelta(days=index)

    def index(self, day: date) -> int:
        return (day - self.start).days


@dataclass(frozen=True)
class Observation:
    """One day: actual cost, expected cost, and the bounds of the normal range."""

    day: date
    actual: float
    expected: float
    low: float
    high: float

    @property
    def excess(self) -> float:
        return self.actual - self.expected

    @property
    def strength(self) -> float:
        """Distance from the normal range, as (actual - expected) ÷ half its width: 1 at the edge, negative below. The
        distance of a control chart (Shewhart, 1931) with the range of `Expectation`."""
        half = (self.high if self.excess >= 0 else self.low) - self.expected
        if not half:
            return 0.0 if not self.excess else (9.0 if self.excess > 0 else -9.0)
        return abs(self.excess / half) * (1 if self.excess > 0 else -1)


@dataclass(frozen=True)
class Detection:
    """A run of days outside the normal range, with the normal days in between. `detected_on`: the day on which the run
    became significant."""

    kind: str
    days: tuple[Observation, ...]
    ongoing: bool
    detected_on: date

    @property
    def first(self) -> date:
        return self.days[0].day

    @property
    def last(self) -> date:
        return self.days[-1].day

    @property
    def excess(self) -> float:
        return sum(day.excess for day in self.days)

    @property
    def is_up(self) -> bool:
        return self.excess >= 0


EDGE = 1.0
"""Distance from which a day is an outlier."""

CLEAR = 1.6
"""Distance from which a single day is reported; smaller distances need LASTING outliers."""

LASTING = 3
GAP = 2
"""Number of normal days within a run that do not end it: weekends."""

IDLE = 0.1
"""A day with expected and actual cost below this share of the level is ignored."""

ADAPT = 14
"""Days after which a new level is normal."""

STEP_DAYS = 5
"""Number of days from which a run is a new level rather than a spike."""

OUTLIER_DAYS, OFTEN, LOUDER = 120, 2, 1.3
"""If a series had OFTEN outliers in the last four months, outliers are usual for it. Another one is not reported
unless it exceeds them by LOUDER, nor are several in a row unless their number exceeds the usual one by MORE_IN_ROW.
"""

MORE_IN_ROW = 2

SPAN = 28
RAMP_HISTORY = 70
RAMP_FLOOR, RAMP_WIDTH = 0.2, 4.0
"""A slow ramp: the ratio of the last week to the week four weeks earlier, beyond its usual range in the series."""


@dataclass
class _Run:
    """Consecutive outliers of a run in progress."""

    first: int
    up: bool
    days: list[Observation] = field(default_factory=list)
    calm: list[Observation] = field(default_factory=list)
    odd: int = 0
    row: int = 0
    longest: int = 0
    usual: int = 0
    strongest: float = 0.0
    error: float = 0.0
    born: bool = False
    ramp: float = 0.0
    detected_on: date | None = None

    def add(self, day: Observation, *, error: float = 0.0, loud: float = 0.0, usual: int = 0) -> None:
        """Add a day. `loud`: an error that the series has had on other days, `usual` of them in a row; a run that is
        no larger and no longer is not significant."""
        self.row = 1 if self.calm else self.row + 1
        self.longest = max(self.longest, self.row)
        self.usual = usual
        self.days += [*self.calm, day]
        self.calm = []
        self.odd += error > loud or not loud
        self.error = max(self.error, error)
        if error > loud:
            self.strongest = max(self.strongest, abs(day.strength))
        if self.detected_on is None and self.is_clear:
            self.detected_on = day.day

    @property
    def is_clear(self) -> bool:
        lasts = self.odd >= LASTING or self.longest >= max(LASTING, self.usual + MORE_IN_ROW)
        return bool(self.ramp) or self.strongest >= CLEAR or lasts

    def detections(self, ongoing: bool) -> Detection:
        return Detection(self._kind, tuple(self.days), ongoing, self.detected_on or self.days[-1].day)

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
        self.observations: list[Observation | None] = []
        self.detections: list[Detection] = []
        self.run: _Run | None = None
        self.growths: list[float | None] = []
        self.ramp_free = 0
        self.outliers: list[tuple[int, float, int]] = []
        self.acknowledged = {
            index
            for acknowledged in series.acknowledged
            for index in range(series.index(acknowledged.first), series.index(acknowledged.last) + 1)
        }
        self.shifts = {
            series.index(acknowledged.last): series.index(acknowledged.first)
            for acknowledged in series.acknowledged
            if acknowledged.ongoing
        }

    def work(self) -> None:
        for index, value in enumerate(self.series.values):
            prediction = self.model.predict()
            if value is None or not self.model.is_warm:
                self.model.accept(value, prediction, odd=False)
                self.observations.append(None)
            else:
                self._observe(index, value, prediction)
            self._watch_growth(index)
        if self.run is not None:
            self._end(ongoing=True)

    def _observe(self, index: int, value: float, prediction: Prediction) -> None:
        expected, low, high = prediction.expected, prediction.low, prediction.high
        if self.run is not None and self.run.ramp:
            expected = (
                prediction.weekly / prediction.level * self.run.ramp if prediction.level > 0 else expected
            )
            low, high = expected - (prediction.expected - low), expected + (high - prediction.expected)
        day = Observation(self.series.day(index), value, expected, low, high)
        self.observations.append(day)
        if index in self.acknowledged:
            self._learn(index, value, prediction)
            return
        odd = abs(day.strength) > EDGE
        in_ramp = self.run is not None and bool(self.run.ramp)
        self.model.accept(value, prediction, odd=odd and not in_ramp)
        if odd:
            self._observe_outlier(index, day, prediction)
        elif self.run is not None:
            self.run.calm.append(day)
            if (
                sum(max(each.expected, each.actual) >= IDLE * prediction.level for each in self.run.calm)
                > GAP
            ):
                self._end(ongoing=False)

    def _learn(self, index: int, value: float, prediction: Prediction) -> None:
        """Learn a day that a person marked as expected."""
        if self.run is not None:
            self._end(ongoing=False)
        self.model.accept(value, prediction, odd=True, acknowledged=True)
        if index in self.shifts:
            self._shift(self.shifts[index], index)

    def _observe_outlier(self, index: int, day: Observation, prediction: Prediction) -> None:
        up = day.excess > 0
        if self.run is not None and self.run.up != up:
            self._end(ongoing=False)
        if self.run is None:
            self.run = _Run(index, up, born=up and self._is_new(index))
        error = abs(day.excess) / prediction.scale if prediction.scale > 0 else 1.0
        loud, usual = self._recurring_outlier(index)
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
        days = self.observations[first : last + 1]
        expected = [day.expected if day else 0.0 for day in days]
        self.model.shift(first, list(self.series.values[first : last + 1]), expected)
        self.ramp_free = last + SPAN

    def _end(self, *, ongoing: bool) -> None:
        assert self.run is not None  # noqa: S101 callers looked
        if self.run.is_clear:
            self.detections.append(self.run.detections(ongoing))
        if self.run.ramp:
            self.ramp_free = len(self.observations) + SPAN
        else:
            self.outliers.append((self.run.first, self.run.error, self.run.longest))
        self.run = None

    def _recurring_outlier(self, index: int) -> tuple[float, int]:
        """Return the error, and the number of consecutive outliers, that the series had OFTEN times in the last four
        months."""
        recent = [(error, row) for when, error, row in self.outliers if when > index - OUTLIER_DAYS]
        if len(recent) < OFTEN:
            return 0.0, 0
        errors, rows = (sorted(each) for each in zip(*recent, strict=True))
        return errors[-OFTEN] * LOUDER, rows[-OFTEN]

    def _watch_growth(self, index: int) -> None:
        """Detect a slow ramp: the last week ÷ the week four weeks earlier, beyond the median of that ratio by
        RAMP_WIDTH robust deviations (MAD · 1.4826: Hampel, 1974) and RAMP_FLOOR. Our rule."""
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
        high_growth = sorted(usual)[int(len(usual) * 0.95)]
        edge = max(middle + max(RAMP_FLOOR * middle, RAMP_WIDTH * error), 1 + RAMP_FLOOR, high_growth * 1.1)
        if growth > edge:
            self._begin_ramp(index, before * min(middle, 1.0 + RAMP_FLOOR))

    def _begin_ramp(self, index: int, level: float) -> None:
        """Return the first day from which cost stayed above the level of four weeks earlier."""
        days: list[Observation] = []
        below = 0
        detected_days = {day.day for detection in self.detections for day in detection.days}
        for each in range(index, index - SPAN, -1):
            observation = self.observations[each]
            if (
                observation is None
                or self.model.levels[each] <= 0
                or each in self.acknowledged
                or observation.day in detected_days
            ):
                break
            expected = self.model.weeklies[each] / self.model.levels[each] * level
            half = (observation.high - observation.low) / 2
            if expected > IDLE * level:
                below = below + 1 if observation.actual <= expected else 0
            if below > 1:
                break
            days.append(
                Observation(observation.day, observation.actual, expected, expected - half, expected + half)
            )
        while days and days[-1].actual <= days[-1].expected:
            days.pop()
        if len(days) < 7:
            return
        self.run = _Run(index - len(days) + 1, True, ramp=level)
        for day in reversed(days):
            self.run.add(day, error=1.0)
        self.run.detected_on = days[0].day


@dataclass(frozen=True)
class DetectorResult:
    """Result for a series: the runs of outliers, and the observation of each day (None: no data, or too early)."""

    detections: tuple[Detection, ...]
    observations: tuple[Observation | None, ...]

    def between(self, first: date, last: date) -> list[Observation]:
        return [day for day in self.observations if day is not None and first <= day.day <= last]


def detect(series: Series) -> DetectorResult:
    """Compare every day of a series with the days before it. About 80 us a day. Our own method, measured against
    peers (docs/adr/0012)."""
    detector = _Detector(series)
    detector.work()
    return DetectorResult(tuple(detector.detections), tuple(detector.observations))

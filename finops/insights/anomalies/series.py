"""What the detector reads and what it finds. Plain floats: exact money is summed by whoever asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

SPIKE, STEP, RAMP, DROP, NEW = "spike", "step", "ramp", "drop", "new"


@dataclass(frozen=True)
class AcknowledgedDays:
    """Days that a person called expected. `ongoing`: they had not ended then, so their level is the new normal."""

    first: date
    last: date
    ongoing: bool = False


@dataclass(frozen=True)
class Series:
    """Daily cost from `start` on; None where the data has no such day."""

    start: date
    values: Sequence[float | None]
    acknowledged: tuple[AcknowledgedDays, ...] = ()

    def day(self, index: int) -> date:
        return self.start + timedelta(days=index)

    def index(self, day: date) -> int:
        return (day - self.start).days


@dataclass(frozen=True)
class Observation:
    """One day: what it cost, what was expected, between which bounds that is normal."""

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
        """How far outside: 1 at the edge of the band; negative below it."""
        half = (self.high if self.excess >= 0 else self.low) - self.expected
        if not half:
            return 0.0 if not self.excess else (9.0 if self.excess > 0 else -9.0)
        return abs(self.excess / half) * (1 if self.excess > 0 else -1)


@dataclass(frozen=True)
class Detection:
    """A run of days outside the band, the calm ones between included. `said`: the day on which it was clear."""

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

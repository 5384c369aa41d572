"""How often something is delivered, and by when the next is due. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import median_low
from typing import Final

FEWEST: Final = 3
"""Days with a delivery from which there is a rhythm."""
NEWEST: Final = 14


@dataclass(frozen=True)
class Rhythm:
    """Usually so many days lie between deliveries."""

    days: int

    def next_by(self, last: datetime) -> datetime:
        """When the next delivery is late: after the usual time and half of it again, at least half a day."""
        return last + timedelta(days=self.days * 1.5 if self.days > 1 else self.days + 0.5)


def rhythm_of(days: Sequence[date]) -> Rhythm | None:
    """The median of what lies between the newest days with deliveries; None when there are too few to tell."""
    newest = sorted(set(days))[-NEWEST:]
    if len(newest) < FEWEST:
        return None
    return Rhythm(median_low((later - earlier).days for earlier, later in pairwise(newest)))

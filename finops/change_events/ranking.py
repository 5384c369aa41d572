"""The rank of a change event for a change of cost: a candidate, never its cause. Pure. docs/how-we-count.md
explains it.

score = time x share x movement

time     = part of the days with the change on or after the event - the same part of the days before them: how much of a
           step on the event's day the comparison would show
share    = change of cost in the event's scope / whole change, at most 1
movement = change of cost in the event's scope / cost in its scope, of the larger side
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Final

from msgspec import Struct

from finops.change_events.models import ChangeEvent
from finops.change_events.schemas import ChangeCandidate, origin_of
from finops.lib.money import exact_difference, ratio
from finops.lib.periods import DateRange

SHOWN: Final = 5
LOWEST: Final = Decimal("0.01")
"""The lowest score of a candidate."""
_PLACES = Decimal("0.001")


class ScopeCost(Struct, frozen=True):
    """Cost in an event's scope during the change and before it, in one currency, and the whole change."""

    now: Decimal
    before: Decimal
    whole_change: Decimal

    @property
    def fit(self) -> Decimal:
        """share x movement, 0 to 1."""
        change = abs(exact_difference(self.now, self.before))
        share = ratio(change, max(change, abs(self.whole_change)))
        movement = ratio(change, max(change, abs(self.now), abs(self.before)))
        return (share or Decimal(0)) * (movement or Decimal(0))


def time_share(day: date, changed: DateRange, before: DateRange) -> Decimal:
    """Return how much of a step of cost on that day a comparison of these days would show, 0 to 1."""
    return max(Decimal(0), _part_since(day, changed) - _part_since(day, before))


def _part_since(day: date, days: DateRange) -> Decimal:
    since = (days.end - max(day, days.start)).days + 1
    return Decimal(max(0, since)) / days.days


def best_candidates(scores: Iterable[tuple[ChangeEvent, Decimal]]) -> list[ChangeCandidate]:
    """Return the best SHOWN candidates; of equal scores the newest first."""
    candidates = [(event, score.quantize(_PLACES)) for event, score in scores if score >= LOWEST]
    candidates.sort(key=lambda pair: (-pair[1], -pair[0].occurred_at.timestamp(), -pair[0].pk))
    return [candidate_of(event, score) for event, score in candidates[:SHOWN]]


def candidate_of(event: ChangeEvent, score: Decimal) -> ChangeCandidate:
    return ChangeCandidate(
        occurred_at=event.occurred_at,
        kind=event.kind,
        title=event.title,
        source=origin_of(event),
        actor=event.actor,
        url=event.url,
        scope=event.scope,
        score=score,
    )

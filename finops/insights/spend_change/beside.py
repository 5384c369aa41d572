"""What happened beside a change of spend: anomalies, new sources, and what other rooms register.

@beside.register("anomalies")
def _anomalies(facts: BesideFacts) -> list[Beside]: …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from accounts.models import Account
from finops.costs.queries.sources import Sources
from finops.insights.spend_change.answers import Beside
from finops.lib.periods import DateRange

MOST = 10


@dataclass(frozen=True)
class BesideFacts:
    """What may be looked at. `days` are the later ones, `previous` the earlier."""

    account: Account
    days: DateRange
    previous: DateRange
    sources: Sources


Finder = Callable[[BesideFacts], list[Beside]]

_finders: dict[str, Finder] = {}


def register(name: str) -> Callable[[Finder], Finder]:
    """Add a finder; ValueError when the name is taken."""

    def add(finder: Finder) -> Finder:
        if name in _finders:
            raise ValueError(f"What stands beside a change is registered twice: {name!r}.")
        _finders[name] = finder
        return finder

    return add


def found_beside(facts: BesideFacts) -> list[Beside]:
    """Everything that was found, by day; at most MOST."""
    found = [each for finder in _finders.values() for each in finder(facts)]
    return sorted(found, key=lambda each: each.day)[:MOST]


@register("new_sources")
def _new_sources(facts: BesideFacts) -> list[Beside]:
    """Sources that the earlier days have nothing of: all of their cost is a change of the data, not of use."""
    begun = [
        (facts.sources.health[span.source_id].name, span.first_day)
        for span in facts.sources.coverage.sources.values()
        if span.source_id in facts.sources.health and facts.previous.end < span.first_day <= facts.days.end
    ]
    return [
        Beside(
            kind="new_source",
            day=day,
            what=f"Source {name!r} has its first cost line; all of it counts as new.",
        )
        for name, day in begun
    ]

"""What happened beside a change of spend: anomalies, new sources, and what other apps add to `related_events`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from accounts.models import Account
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.sources import Sources
from finops.insights.spend_change.answers import RelatedEvent
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.periods import DateRange
from finops.lib.registry import Registry

MOST = 10


@dataclass(frozen=True)
class RelatedEventFacts:
    """What may be looked at. `days` are the later ones, `previous` the earlier; `filters` are those of the change:
    what they do not hold stands beside no change of theirs."""

    account: Account
    days: DateRange
    previous: DateRange
    sources: Sources
    filters: tuple[ResolvedFilter, ...] = ()
    deadline: float | None = None

    def sources_with_cost(self) -> set[str]:
        """Ids of the sources with a line in the later days that passes the filters. One lake query."""
        table = engine.run(
            self.account,
            Kind.COST,
            self.days.start,
            self.days.end,
            _SourcesBuild(self.filters),
            tag_keys=[key for item in self.filters for key in item.dimension.tag_keys],
            allow_rollups=True,
            manifest=self.sources.manifest,
            deadline=self.deadline,
        )
        return set(table["source"].to_pylist())


@dataclass(frozen=True)
class _SourcesBuild:
    filters: tuple[ResolvedFilter, ...]

    def __call__(self, table: Any) -> Any:
        return table.filter(reduce(and_, all_of(table, self.filters))).select("source").distinct()


related_events: Registry[Callable[[RelatedEventFacts], list[RelatedEvent]]] = Registry("related events")


def find_related_events(facts: RelatedEventFacts) -> list[RelatedEvent]:
    """Everything that was found, by day; at most MOST."""
    events = [each for finder in related_events.values() for each in finder(facts)]
    return sorted(events, key=lambda each: each.day)[:MOST]


@related_events.register("new_sources")
def _new_sources(facts: RelatedEventFacts) -> list[RelatedEvent]:
    """Sources that the earlier days have nothing of: all of their cost is a change of the data, not of use."""
    new_sources = [
        (facts.sources.health[span.source_id].name, span.first_day, str(span.source_id))
        for span in facts.sources.coverage.sources.values()
        if span.source_id in facts.sources.health and facts.previous.end < span.first_day <= facts.days.end
    ]
    source_ids = (
        facts.sources_with_cost()
        if new_sources and facts.filters
        else {source for _, _, source in new_sources}
    )
    return [
        RelatedEvent(
            kind="new_source",
            day=day,
            what=f"Source {name!r} has its first cost line; all of it counts as new.",
        )
        for name, day, source in new_sources
        if source in source_ids
    ]

"""The actor who created or changed a resource, from change events with the resource in their scope; bills seldom have
actors. The result is a candidate with its confidence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from finops.change_events.models import ChangeEvent
from finops.change_events.queries.visible import visible_events

MAX_READ: Final = 20_000
"""The maximum of events that are read: the newest with a resource and an actor."""
_CREATION: Final = re.compile(r"(Run|Create|Allocate|Restore|Copy|Import|Launch|Purchase)[A-Z]\w*/")
"""Prefixes of event ids from cloud audit logs that mean creation: the API's action
(`finops.connections.vendor_apis.cloudtrail`)."""
_SERVICE: Final = ".amazonaws.com"

Confidence = Literal["high", "medium", "low"]
REASONS: Final[dict[Confidence, str]] = {
    "high": "created the resource",
    "medium": "changed the resource; its creation is not known",
    "low": "is a cloud service that acted for another identity",
}


@dataclass(frozen=True)
class ResourceActor:
    """The most likely actor behind a resource's cost."""

    actor: str
    confidence: Confidence
    event: str
    occurred_at: datetime
    url: str

    @property
    def reason(self) -> str:
        return REASONS[self.confidence]


def actor_of_resource(resource: str) -> ResourceActor | None:
    """The actor of a resource of the account in scope, from events that the reader may see. One query."""
    events = visible_events().filter(scope__resource__contains=[resource]).exclude(actor="")
    return _best(events[:MAX_READ])


def resource_actors() -> dict[str, ResourceActor]:
    """Actors by the resource's id or ARN, from the newest MAX_READ events. One query."""
    by_resource: dict[str, list[ChangeEvent]] = {}
    for event in visible_events().filter(scope__has_key="resource").exclude(actor="")[:MAX_READ]:
        for resource in event.scope["resource"]:
            by_resource.setdefault(resource, []).append(event)
    best = ((resource, _best(events)) for resource, events in by_resource.items())
    return {resource: actor for resource, actor in best if actor is not None}


def _best(events: Iterable[ChangeEvent]) -> ResourceActor | None:
    """Return the newest creation, or else the newest change; an event by a person before one by a service. Events are
    newest first."""
    ranked = sorted(events, key=lambda event: _RANKS.index(_confidence(event)))
    if not ranked:
        return None
    event = ranked[0]
    return ResourceActor(event.actor, _confidence(event), event.title, event.occurred_at, event.url)


_RANKS: Final[tuple[Confidence, ...]] = ("high", "medium", "low")


def _confidence(event: ChangeEvent) -> Confidence:
    if event.actor.endswith(_SERVICE):
        return "low"
    return "high" if _CREATION.match(event.external_id) else "medium"

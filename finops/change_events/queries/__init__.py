"""Reads of change events: lists and the meter."""

from __future__ import annotations

from finops.change_events.queries.events import (
    events_between,
    list_change_events,
    listed_events,
    nearest_events,
)
from finops.change_events.queries.meter import metered_by_month, month_by_event_source
from finops.change_events.queries.resource_actors import actor_of_resource, resource_actors
from finops.change_events.queries.scope_conditions import events_that_fit
from finops.change_events.queries.source_activity import EventSourceActivity, event_source_activity
from finops.change_events.queries.visible import visible_events, visible_sources

__all__ = [
    "EventSourceActivity",
    "actor_of_resource",
    "event_source_activity",
    "events_between",
    "events_that_fit",
    "list_change_events",
    "listed_events",
    "metered_by_month",
    "month_by_event_source",
    "nearest_events",
    "resource_actors",
    "visible_events",
    "visible_sources",
]

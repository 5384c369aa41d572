"""Registrations of change events with accounts and the meter."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import pre_delete
from django.dispatch import receiver

from accounts.models import Account
from finops.change_events.queries import (
    actor_of_resource,
    events_between,
    events_that_fit,
    metered_by_month,
    month_by_event_source,
)
from finops.change_events.schemas import origin_of
from finops.change_events.scopes import scope_filters_of
from finops.change_events.services.keys import end_pushes
from finops.costs.explorer_steps import pinned_values
from finops.costs.resource_panels import ResourcePanel, ResourceQuestion, resource_panels
from finops.lib.chart_markers import MAX_MARKERS, Marker, MarkerQuestion, chart_markers
from ingestion.queries.billing import OtherMeter, other_meters

other_meters.add("change events", OtherMeter(metered_by_month, month_by_event_source))


@chart_markers.register("change events")
def event_markers(question: MarkerQuestion) -> list[Marker]:
    """Return the newest events that the reader may see and that match the filters: at most MAX_MARKERS + 1, so that
    the caller can detect that there are more. One query."""
    events = events_between(question.days.start, question.days.end)
    fitting = events_that_fit(events, scope_filters_of(question.filters), MAX_MARKERS + 1)
    return [
        Marker(
            event.occurred_at,
            event.get_kind_display(),
            event.title,
            origin_of(event),
            event.url,
            event.actor,
        )
        for event in fitting
    ]


@resource_panels.register("actor")
def resource_actor_panel(question: ResourceQuestion) -> ResourcePanel | None:
    """The panel with the actor who created or changed the resource, if an event names it. One query."""
    name = pinned_values(question.question.query).get("resource")
    actor = actor_of_resource(name) if name else None
    return ResourcePanel("change_events/_resource_actor.html", {"actor": actor}) if actor else None


@receiver(pre_delete, sender=Account, dispatch_uid="change_events.pushes")
def end_pushes_of_account(instance: Account, **_: Any) -> None:
    """Stop pushes before the account is deleted: otherwise a push could store an event of that account."""
    end_pushes(account=instance)

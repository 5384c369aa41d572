"""Panels that higher apps add to the page of an event source, such as the settings of a pull. They register in
`event_source_panels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from finops.change_events.models import EventSource
from finops.lib.registry import Registry


@dataclass(frozen=True)
class EventSourcePanel:
    """A panel of the page: a template and its context, `part`."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


event_source_panels: Registry[Callable[[EventSource], EventSourcePanel | None]] = Registry(
    "event source panel"
)
"""Functions that return a panel, or None if there is nothing to show. The account is in scope."""


def panels_of(source: EventSource) -> list[EventSourcePanel]:
    """Every panel with something to show, in order of registration."""
    panels = [panel(source) for panel in event_source_panels.values()]
    return [panel for panel in panels if panel is not None]

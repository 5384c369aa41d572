"""Registry of panels that higher apps show on the page of a usage source, such as how it is pulled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from finops.lib.registry import Registry
from ingestion.models import UsageSource


@dataclass(frozen=True)
class SourcePanel:
    """A panel of the page: its template gets `part`, the context of this panel."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


source_panels: Registry[Callable[[UsageSource], SourcePanel | None]] = Registry("usage source panel")
"""Returns None if there is nothing to show. The account is in scope."""


def panels_of(source: UsageSource) -> list[SourcePanel]:
    """Return every panel with content, in the order of registration."""
    panels = [panel(source) for panel in source_panels.values()]
    return [panel for panel in panels if panel is not None]

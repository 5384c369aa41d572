"""What higher apps show on the page of a usage source, such as how it is pulled. They add theirs to `source_panels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from finops.lib.registry import Registry
from ingestion.models import UsageSource


@dataclass(frozen=True)
class SourcePanel:
    """A part of the page: a template, which gets `part`, the context of this part."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


source_panels: Registry[Callable[[UsageSource], SourcePanel | None]] = Registry("usage source panel")
"""None: there is nothing to show. The account is in scope."""


def panels_of(source: UsageSource) -> list[SourcePanel]:
    """Every part that has something to show, in the order of registration."""
    panels = [panel(source) for panel in source_panels.values()]
    return [panel for panel in panels if panel is not None]

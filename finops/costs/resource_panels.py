"""What higher apps show of one resource in the cost explorer, such as its anomalies. They add theirs to `resource_panels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.models import Account
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend import Question
from finops.lib.registry import Registry


@dataclass(frozen=True)
class ResourceQuestion:
    """The question whose filters leave one resource, with what it was asked of."""

    account: Account
    sources: Sources
    question: Question


@dataclass(frozen=True)
class ResourcePanel:
    """A part of the panel: a template, which gets `part`, the context of this part."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


resource_panels: Registry[Callable[[ResourceQuestion], ResourcePanel | None]] = Registry("resource panel")
"""None: there is nothing to show. The account is in scope."""


def panels_of(question: ResourceQuestion) -> list[ResourcePanel]:
    """Every part that has something to show, in the order of registration."""
    panels = [panel(question) for panel in resource_panels.values()]
    return [panel for panel in panels if panel is not None]

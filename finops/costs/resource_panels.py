"""Panels of higher apps for a resource in the cost explorer, such as its anomalies, registered in `resource_panels`."""

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
    """The question whose filters select one resource, with its request."""

    account: Account
    sources: Sources
    question: Question


@dataclass(frozen=True)
class ResourcePanel:
    """A part of the panel: a template, whose context has this part as `part`."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


resource_panels: Registry[Callable[[ResourceQuestion], ResourcePanel | None]] = Registry("resource panel")
"""Functions that return a part, or None when there is nothing to show. The account is in scope."""


def panels_of(question: ResourceQuestion) -> list[ResourcePanel]:
    """Return every part with content, in the order of registration."""
    panels = [panel(question) for panel in resource_panels.values()]
    return [panel for panel in panels if panel is not None]

"""Panels that higher apps show on a team's page, such as its budgets. Apps register theirs in `team_panels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.models import Account
from finops.allocation.models import Team
from finops.lib.registry import Registry


@dataclass(frozen=True)
class TeamPanel:
    """A card of the page: a template, whose context has this panel as `panel`."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


team_panels: Registry[Callable[[Account, Team], TeamPanel | None]] = Registry("team panel")
"""Functions that return a panel, or None when there is nothing to show. The account is in scope."""


def panels_of(account: Account, team: Team) -> list[TeamPanel]:
    """Return every panel with content, in the order of registration."""
    panels = [panel(account, team) for panel in team_panels.values()]
    return [panel for panel in panels if panel is not None]

"""What higher apps show on a team's page, such as its budgets. They add theirs to `team_panels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.models import Account
from finops.allocation.models import Team
from finops.lib.registry import Registry


@dataclass(frozen=True)
class TeamPanel:
    """A card of the page: a template, which gets `panel`, the context of this panel."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


team_panels: Registry[Callable[[Account, Team], TeamPanel | None]] = Registry("team panel")
"""None: there is nothing to show. The account is in scope."""


def panels_of(account: Account, team: Team) -> list[TeamPanel]:
    """Every panel that has something to show, in the order of registration."""
    panels = [panel(account, team) for panel in team_panels.values()]
    return [panel for panel in panels if panel is not None]

"""What higher rooms show on a team's page, such as its budgets. They register theirs when they start.

@team_panels.register("budgets")
def _budgets(account: Account, team: Team) -> TeamPanel | None: …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.models import Account
from finops.allocation.models import Team


@dataclass(frozen=True)
class TeamPanel:
    """A card of the page: a template, which gets `panel`, the context of this panel."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


Panel = Callable[[Account, Team], TeamPanel | None]
"""None: there is nothing to show. The account is in scope."""

_panels: dict[str, Panel] = {}


def register(name: str) -> Callable[[Panel], Panel]:
    """Add a panel; ValueError when the name is taken."""

    def add(panel: Panel) -> Panel:
        if name in _panels:
            raise ValueError(f"Team panel {name!r} is registered twice.")
        _panels[name] = panel
        return panel

    return add


def panels_of(account: Account, team: Team) -> list[TeamPanel]:
    """Every panel that has something to show, in the order of registration."""
    panels = [panel(account, team) for panel in _panels.values()]
    return [panel for panel in panels if panel is not None]

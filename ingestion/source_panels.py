"""Registry of panels that higher apps show on the page of a usage source, such as how it is pulled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from accounts.models import Account
from finops.lib.registry import Registry
from ingestion.models import UsageSource


@dataclass(frozen=True)
class SourcePanel:
    """A panel of the page: its template gets `part`, the context of this panel."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


source_panels: Registry[Callable[[UsageSource], SourcePanel | None]] = Registry("usage source panel")
"""Functions that return the panel of a source, or None if there is nothing to show. The account is in scope."""


@dataclass(frozen=True)
class PullState:
    """The state of a source's pull. `status`: healthy, syncing, failing, paused, late; `problem`: why it fails."""

    title: str
    status: str
    last_sync_at: datetime | None
    problem: str


pull_states: Registry[Callable[[Account], Mapping[int, PullState]]] = Registry("usage pull state")
"""Functions that return the pull state of every pulled source of the account, by its ID."""


def pull_states_of(account: Account) -> dict[int, PullState]:
    """Return the pull states of the account's sources, by source ID."""
    return {pk: state for states in pull_states.values() for pk, state in states(account).items()}


def panels_of(source: UsageSource) -> list[SourcePanel]:
    """Return every panel with content, in the order of registration."""
    panels = [panel(source) for panel in source_panels.values()]
    return [panel for panel in panels if panel is not None]

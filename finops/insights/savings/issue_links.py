"""Registries for higher apps: issues created from a saving, and cards on its page. Apps register theirs in their
hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.models import Account
from finops.insights.savings.schemas import Recommendation, SavingIssueLink
from finops.lib.registry import Registry

saving_issues: Registry[Callable[[Account], Mapping[str, list[SavingIssueLink]]]] = Registry(
    "issues of savings"
)
"""Issues by the saving's id. The account is in scope. One query."""


@dataclass(frozen=True)
class SavingPanel:
    """A card of the page: its template gets `panel`, the context of this panel."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


saving_panels: Registry[Callable[[Account, Recommendation], SavingPanel | None]] = Registry("saving panel")
"""Returns None if there is nothing to show. The account is in scope."""


def issues_by_saving(account: Account) -> dict[str, list[SavingIssueLink]]:
    """Return every issue of the account's savings, by the saving's id."""
    links: dict[str, list[SavingIssueLink]] = {}
    for read in saving_issues.values():
        for key, some in read(account).items():
            links.setdefault(key, []).extend(some)
    return links


def panels_of_saving(account: Account, row: Recommendation) -> list[SavingPanel]:
    """Return every panel with content, in the order of registration."""
    panels = [panel(account, row) for panel in saving_panels.values()]
    return [panel for panel in panels if panel is not None]

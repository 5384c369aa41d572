"""What higher apps know of a saving: the issues that it became, and cards of its page. They add theirs in their hooks."""

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
"""By the saving's id. The account is in scope. One query."""


@dataclass(frozen=True)
class SavingPanel:
    """A card of the page: a template, which gets `panel`, the context of this panel."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


saving_panels: Registry[Callable[[Account, Recommendation], SavingPanel | None]] = Registry("saving panel")
"""None: there is nothing to show. The account is in scope."""


def issues_by_saving(account: Account) -> dict[str, list[SavingIssueLink]]:
    """Every issue of the account's savings, by the saving's id."""
    links: dict[str, list[SavingIssueLink]] = {}
    for read in saving_issues.values():
        for key, some in read(account).items():
            links.setdefault(key, []).extend(some)
    return links


def panels_of_saving(account: Account, row: Recommendation) -> list[SavingPanel]:
    """Every panel that has something to show, in the order of registration."""
    panels = [panel(account, row) for panel in saving_panels.values()]
    return [panel for panel in panels if panel is not None]

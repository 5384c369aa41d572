"""Registrations of issues with savings: links in their answers and lists, and a card on each one's page."""

from __future__ import annotations

from accounts.models import Account
from finops.insights.savings.issue_links import SavingPanel, saving_issues, saving_panels
from finops.insights.savings.schemas import Recommendation
from finops.issues.panel import panel_context
from finops.issues.queries import issue_links

saving_issues.add("issues", issue_links)


@saving_panels.register("issues")
def issues_panel(account: Account, row: Recommendation) -> SavingPanel:
    return SavingPanel("issues/_saving_panel.html", panel_context(account, row.id, row.status))

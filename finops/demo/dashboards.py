"""The demo company's shared dashboard: leadership's weekly figures, the answer first and its causes below."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import CostTag
from finops.dashboards.layouts import WidgetDraft
from finops.dashboards.models import Dashboard
from finops.dashboards.services import create_dashboard
from finops.dashboards.starters import draft
from finops.unitcosts.models import UnitMetric
from ingestion.models import UsageMetric

NAME = "Weekly cost review"
UNIT_COSTS = {
    "Cost per document": ("Cost per document", 6),
    "Cloud cost as share of revenue": ("Cost to revenue", 9),
}
"""The two most telling unit costs of a software company: the title and column of each."""


def ensure_dashboard(account: Account, actor: Actor) -> bool:
    """Create the dashboard if it is missing, in the account in scope."""
    if Dashboard.objects.filter(owner=None, name__iexact=NAME).exists():
        return False
    create_dashboard(account=account, actor=actor, name=NAME, widgets=_widgets())
    return True


def _widgets() -> list[WidgetDraft]:
    """Four tiles, then the trend beside the budgets, then the largest spenders and changes, then recommendations. Widgets
    without data in the account are left out."""
    drafts = [
        draft("total", (0, 0, 3, 3), "Month to date", period="month_to_date"),
        draft("total", (3, 0, 3, 3), "Last 7 days", period="last_7_days"),
        draft("spend_over_time", (0, 3, 8, 5), "Daily spend by service"),
        draft("budget_status", (8, 3, 4, 5), "Budgets at risk", limit=5),
        draft("top_movers", (0, 8, 4, 5), "Biggest changes", limit=5),
        draft("anomalies", (8, 8, 4, 5), "Recent anomalies", status="all", limit=6),
        draft(
            "spend_over_time",
            (0, 13, 6, 5),
            "Monthly spend by provider",
            period="last_12_months",
            granularity="month",
            group_by=["provider"],
        ),
        draft("savings", (0, 18, 6, 5), "Savings opportunities", limit=6),
        draft("commitment_utilization", (6, 18, 6, 5), "Commitments", limit=4),
    ]
    for metric in UnitMetric.objects.filter(name__in=UNIT_COSTS):
        title, x = UNIT_COSTS[metric.name]
        drafts.append(draft("unit_cost", (x, 0, 3, 3), title, unit_metric=metric.name))
    for tag in CostTag.objects.filter(key="team"):
        drafts.append(draft("cost_tag_breakdown", (4, 8, 4, 5), "Spend by team", cost_tag=tag.key, limit=7))
    for usage in UsageMetric.objects.filter(name="documents_processed"):
        drafts.append(
            draft(
                "usage",
                (6, 13, 6, 5),
                "Documents by customer",
                usage_metric=usage.name,
                group_by=["customer"],
            )
        )
    return drafts

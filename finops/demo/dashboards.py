"""The demo company's shared board: what leadership looks at each week."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import CostTag
from finops.dashboards.models import Dashboard
from finops.dashboards.services import create_dashboard
from finops.dashboards.starters import draft, starter

NAME = "Weekly cost review"


def ensure_dashboard(account: Account, actor: Actor) -> bool:
    """Make the board if it is not there, in the account in scope."""
    if Dashboard.objects.filter(owner=None, name__iexact=NAME).exists():
        return False
    widgets = starter(account, "spend")
    bottom = max(each.place.bottom for each in widgets if each.place)
    tag = CostTag.objects.order_by("key").first()
    if tag is not None:
        widgets.append(draft("cost_tag_breakdown", (0, bottom, 6, 5), f"By {tag.key}", cost_tag=tag.key))
    table = draft(
        "table",
        (6, bottom, 6, 5),
        "Services and regions",
        group_by=["service", "region"],
        compare_to="previous_period",
    )
    note = draft(
        "text",
        (0, bottom + 5, 12, 2),
        "How to read this board",
        text="Reviewed on Mondays. Ask the assistant what moved; budgets at risk go to their team the same day.",
    )
    create_dashboard(account=account, actor=actor, name=NAME, widgets=[*widgets, table, note])
    return True

"""What budgets add to lower apps: a panel on a team's page, and which budgets use a cost tag."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags.uses import dimension_uses
from finops.allocation.models import Team
from finops.allocation.team_panels import TeamPanel, team_panels
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses
from finops.lib.errors import UserError

TEMPLATE = "budgets/_team_panel.html"


@team_panels.register("budgets")
def team_budgets(account: Account, team: Team) -> TeamPanel:
    """Where the team's budgets stand: one lake query when it has any. A lake that cannot answer is said in the panel."""
    budgets = list(Budget.objects.filter(account=account, team=team).prefetch_related("amounts"))
    try:
        statuses = budget_statuses(account, budgets) if budgets else []
    except UserError as problem:
        return TeamPanel(TEMPLATE, {"error": problem.message})
    return TeamPanel(TEMPLATE, {"statuses": statuses})


@dimension_uses.register("budgets")
def budgets_of_cost_tag(account: Account, dimension: str) -> list[str]:
    family, _, key = dimension.partition(":")
    if family != "cost_tag":
        return []
    rows = Budget.objects.filter(account=account, cost_tag__key__iexact=key)
    return [f"budget {name}" for name in rows.values_list("name", flat=True)]

"""Budgets of the demo company: one of each kind of scope and period, some kept, some at risk, some exceeded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses
from finops.budgets.schemas import BudgetStatus
from finops.budgets.scopes import ScopeDraft
from finops.budgets.services import BudgetDraft, create_budget, unsaved_budget
from finops.budgets.status_rules import EXCEEDED, OK, WARNING
from finops.costs.models import CostSource
from finops.costs.queries import list_dimension_values
from finops.demo.company import SOURCES


@dataclass(frozen=True)
class BudgetPlan:
    """A budget, and its intended status on the day it is created."""

    name: str
    status: str
    currency: str = "USD"
    period: str = "monthly"
    scope: ScopeDraft = field(default_factory=ScopeDraft)


def ensure_budgets(account: Account, actor: Actor) -> int:
    """Create missing budgets in the account in scope and return how many. Amounts follow the current cost of their scopes."""
    there = set(Budget.objects.values_list("name", flat=True))
    missing = [plan for plan in _plans(account) if plan.name not in there]
    return sum(_make(account, actor, plan) for plan in missing)


def _plans(account: Account) -> list[BudgetPlan]:
    plans = [
        BudgetPlan("All clouds, in dollars", OK),
        BudgetPlan("All clouds, in euros", WARNING, currency="EUR"),
        BudgetPlan("Company, the year", OK, period="yearly"),
    ]
    names = set(CostSource.objects.values_list("name", flat=True))
    for key, status, period in (
        ("aws", OK, "monthly"),
        ("anthropic", EXCEEDED, "monthly"),
        ("gcp", WARNING, "quarterly"),
    ):
        name = SOURCES[key].name
        if name in names:
            scope = ScopeDraft(scope="cost_source", cost_source=name)
            plans.append(BudgetPlan(f"{name}, {period}", status, period=period, scope=scope))
    return [*plans, *_team_plans(), *_cost_tag_plans(account)]


def _team_plans() -> list[BudgetPlan]:
    names = list(Team.objects.order_by("name").values_list("name", flat=True)[:2])
    return [
        BudgetPlan(f"Team {name}", status, scope=ScopeDraft(scope="team", team=name))
        for name, status in zip(names, (WARNING, OK), strict=False)
    ]


def _cost_tag_plans(account: Account) -> list[BudgetPlan]:
    """Plans for the costliest value of the first cost tag, whose rules exist by then."""
    tag = CostTag.objects.order_by("key").first()
    if tag is None:
        return []
    values = [each.value for each in list_dimension_values(account, f"cost_tag:{tag.key}", limit=5).values]
    plain_values = [value for value in values if not value.startswith("(")]
    return [
        BudgetPlan(
            f"{tag.key}: {value}",
            OK,
            scope=ScopeDraft(scope="cost_tag", cost_tag=tag.key, cost_tag_value=value),
        )
        for value in plain_values[:1]
    ]


def _make(account: Account, actor: Actor, plan: BudgetPlan) -> bool:
    """Create a budget whose amount gives it its status today; none where the scope has too little cost for that."""
    draft = BudgetDraft(
        name=plan.name, amount=Decimal(1), currency=plan.currency, period=plan.period, scope=plan.scope
    )
    (status,) = budget_statuses(account, [unsaved_budget(account=account, draft=draft)])
    amount = _amount(status, plan.status)
    if amount is None:
        return False
    create_budget(account=account, actor=actor, draft=replace(draft, amount=amount))
    return True


def _amount(status: BudgetStatus, target_status: str) -> Decimal | None:
    """Return a round amount; exceeded needs some spend."""
    spent, forecast = status.spent or Decimal(0), status.forecast
    if forecast is None or forecast <= 0:
        return None
    factors = {
        OK: forecast * Decimal("1.2"),
        WARNING: max(forecast * Decimal("0.97"), spent * Decimal("1.05")),
    }
    amount = (
        spent * Decimal("0.94")
        if target_status == EXCEEDED and spent > 0
        else factors.get(target_status, forecast)
    )
    step = Decimal(1).scaleb(max(amount.adjusted() - 2, 0))
    return (amount / step).to_integral_value(ROUND_HALF_EVEN) * step

"""Budgets for tests, and the cost of a small account. Shares no code with the queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.budgets import services
from finops.budgets.models import Budget
from finops.budgets.scopes import ScopeDraft
from finops.budgets.services import BudgetDraft
from tests.cast import ACTOR
from tests.factories.costs import Line, cost
from tests.factories.days import days


def budget_draft(name: str = "Everything", amount: str | int = 1000, /, **fields: Any) -> BudgetDraft:
    """Return a monthly budget of the whole account in USD, unless overridden by `rest`; scopes as
    `scope=ScopeDraft(…)`."""
    return BudgetDraft(name=name, amount=Decimal(amount), **{"currency": "USD", **fields})


def create_budget(
    account: Account, name: str = "Everything", amount: str | int = 1000, /, **fields: Any
) -> Budget:
    return services.create_budget(account=account, actor=ACTOR, draft=budget_draft(name, amount, **fields))


def source_scope(source: Any) -> ScopeDraft:
    return ScopeDraft(scope="cost_source", cost_source=source)


def team_scope(team: Any) -> ScopeDraft:
    return ScopeDraft(scope="team", team=team)


def cost_tag_scope(key: Any, value: str) -> ScopeDraft:
    return ScopeDraft(scope="cost_tag", cost_tag=key, cost_tag_value=value)


def daily_cost(first: date, last: date, amount: str | int, /, **columns: Any) -> list[Line]:
    """Return the same cost for every day, both days inclusive."""
    return [cost(day, amount, **columns) for day in days(first, last)]


def add_lines(*parts: Sequence[Line]) -> list[Line]:
    return [line for part in parts for line in part]

"""Budgets for tests, and a small account's cost. Nothing here shares code with the queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from accounts.audit import Actor
from accounts.models import Account
from finops.budgets.models import Budget
from finops.budgets.scopes import ScopeDraft
from finops.budgets.services import BudgetDraft, create_budget
from tests.finops.costs.rows import Line, cost

ACTOR = Actor.command("test")


def draft(name: str = "Everything", amount: str | int = 1000, /, **rest: Any) -> BudgetDraft:
    """A monthly budget of the whole account in USD, unless it says otherwise; scopes as `scope=ScopeDraft(…)`."""
    return BudgetDraft(name=name, amount=Decimal(amount), **{"currency": "USD", **rest})


def make(account: Account, name: str = "Everything", amount: str | int = 1000, /, **rest: Any) -> Budget:
    return create_budget(account=account, actor=ACTOR, draft=draft(name, amount, **rest))


def of_source(source: Any) -> ScopeDraft:
    return ScopeDraft(scope="cost_source", cost_source=source)


def of_team(team: Any) -> ScopeDraft:
    return ScopeDraft(scope="team", team=team)


def of_tag(key: Any, value: str) -> ScopeDraft:
    return ScopeDraft(scope="cost_tag", cost_tag=key, cost_tag_value=value)


def days(first: date, last: date) -> Iterator[date]:
    for count in range((last - first).days + 1):
        yield first + timedelta(days=count)


def daily(first: date, last: date, amount: str | int, /, **columns: Any) -> list[Line]:
    """The same cost every day, both days inside."""
    return [cost(day, amount, **columns) for day in days(first, last)]


def add_lines(*parts: Sequence[Line]) -> list[Line]:
    return [line for part in parts for line in part]

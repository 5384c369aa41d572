"""Arguments and results of the tools about budgets; the page uses the same arguments.

Docstrings of these types are in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from finops.costs.answers import AppliedCostView, MoneyAmount
from finops.lib.answers import AccountAnswer

OUTSIDE_VIEW: Final = "of charge categories outside the cost view"

StatusName = Literal["ok", "warning", "exceeded"]
ScopeName = Literal["account", "cost_source", "team", "cost_tag"]


class BudgetsQuery(msgspec.Struct, frozen=True, kw_only=True):
    statuses: Annotated[list[StatusName], Meta(description="Empty: all.")] = []
    scopes: Annotated[list[ScopeName], Meta(description="Empty: all.")] = []
    limit: Annotated[int, Meta(ge=1, le=50)] = 50
    cursor: str = ""


# A period before the current one, against the amount that the budget has for it today. spent: None without data.
# other_currencies and left_out as in BudgetStatus; `reason` names them.
class PastPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """A period that is over."""

    start_date: date
    end_date: date
    amount: Decimal
    currency: str
    spent: Decimal | None
    spent_percent: Decimal | None
    exceeded: bool
    reason: str = ""
    other_currencies: list[MoneyAmount] = []
    left_out: list[MoneyAmount] = []


# Amounts are exact. `spent` is what lines up to `day` add up to; `forecast` what the whole period will, with its band of
# 80 %. Either is None with its reason. `crosses_on`: the day on which the amount was reached, or will be by the forecast.
class BudgetStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A budget in its current period."""

    id: int
    name: str
    scope: str
    scope_name: str
    period: str
    start_date: date
    end_date: date
    days_left: int
    amount: Decimal
    currency: str
    warning_percent: int
    spent: Decimal | None
    spent_percent: Decimal | None
    spent_reason: str
    forecast: Decimal | None
    forecast_low: Decimal | None
    forecast_high: Decimal | None
    forecast_percent: Decimal | None
    forecast_reason: str
    status: str
    status_reason: str
    crosses_on: date | None
    data_through: date | None
    other_currencies: list[MoneyAmount]
    past: list[PastPeriod]
    warnings: list[str]
    not_final: Decimal = Decimal(0)  # what of `spent` is of days that are not complete
    left_out: list[MoneyAmount] = []  # cost of the scope so far that is OUTSIDE_VIEW


# The same, short: 50 of them fit into one answer.
class BudgetRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """forecast: for end_date, null with forecast_reason; crosses_on: when the amount was or will be reached."""

    id: int
    name: str
    scope: str
    period: str
    start_date: date
    end_date: date
    amount: Decimal
    currency: str
    spent: Decimal | None
    spent_percent: Decimal | None
    forecast: Decimal | None
    status: str
    status_reason: str
    scope_name: str = ""
    forecast_low: Decimal | None = None
    forecast_high: Decimal | None = None
    forecast_reason: str = ""
    crosses_on: date | None = None
    other_currencies: list[MoneyAmount] = []
    warnings: list[str] = []


class BudgetsAnswer(AccountAnswer, frozen=True, kw_only=True):
    view: AppliedCostView
    data_through: date | None
    budgets: list[BudgetRow]
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


class BudgetAnswer(AccountAnswer, frozen=True, kw_only=True):
    budget: BudgetRow
    view: AppliedCostView
    data_through: date | None
    warnings: list[str]
    hint: str
    console_url: str = ""

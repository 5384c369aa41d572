"""The list of budgets with their statuses, and the budgets at risk for the overview."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.limits import limit_of
from accounts.page_access import AccountRequest, account_page
from finops.budgets.charts import Bar, bar_of
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses, suggestion
from finops.budgets.queries.statuses import omission_parts
from finops.budgets.schemas import BudgetsQuery, BudgetStatus
from finops.budgets.status_rules import EXCEEDED, OK, STATUSES, WARNING
from finops.costs.queries.cost_view import apply_overrides
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import load_sources
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListFilter, ListPage, wants_csv
from finops.lib.params import as_arguments

MAX_AT_RISK = 3
WORST_FIRST = {EXCEEDED: 0, WARNING: 1, OK: 2}


@dataclass(frozen=True)
class BudgetEntry:
    """A row of the list of budgets."""

    status: BudgetStatus
    bar: Bar


def _currency(row: BudgetEntry) -> str:
    return row.status.currency


BUDGETS = ListPage[BudgetEntry](
    name="budgets",
    title="Budgets",
    noun="budget",
    order="risk",
    filters=[
        ListFilter(
            name="status",
            label="Status",
            every="All statuses",
            choices=[(EXCEEDED, "Exceeded"), (WARNING, "Warning"), (OK, "OK")],
            value=lambda row: row.status.status,
            counted=True,
        ),
        ListFilter("scope", "Scope", "All scopes", Budget.Scope.choices, lambda row: row.status.scope),
    ],
    columns=[
        Column("name", "Budget", lambda row: row.status.name),
        Column(
            name="risk",
            label="Status",
            value=lambda row: row.status.status,
            sort=lambda row: WORST_FIRST[row.status.status],
            css="nowrap",
        ),
        Column("scope", "Scope", lambda row: row.status.scope, shown=False),
        Column("scope_name", "Scope name", lambda row: row.status.scope_name, shown=False),
        Column("period", "Period", lambda row: row.status.period, shown=False),
        Column("start", "From", lambda row: row.status.start_date, shown=False),
        Column("end", "To", lambda row: row.status.end_date, shown=False),
        Column("spent", "Spent", lambda row: row.status.spent, numeric=True, currency=_currency, shown=False),
        Column(
            "used",
            "Budget used",
            lambda row: row.status.spent_percent,
            css="budget-used",
            phone="Spent",
        ),
        Column("amount", "Amount", lambda row: row.status.amount, numeric=True, currency=_currency),
        Column(
            "forecast",
            "Forecast",
            lambda row: row.status.forecast,
            numeric=True,
            currency=_currency,
            help="forecast-range",
        ),
        Column(
            "low",
            "Forecast from",
            lambda row: row.status.forecast_low,
            numeric=True,
            currency=_currency,
            shown=False,
        ),
        Column(
            "high",
            "Forecast to",
            lambda row: row.status.forecast_high,
            numeric=True,
            currency=_currency,
            shown=False,
        ),
        Column("currency", "Currency", lambda row: row.status.currency, shown=False),
        Column("left", "Days left", lambda row: row.status.days_left, numeric=True),
        Column("crosses", "Amount reached", lambda row: row.status.crosses_on, shown=False),
        Column("reason", "Reason", lambda row: row.status.status_reason, shown=False),
        Column(
            "not_counted",
            "Not counted",
            lambda row: omission_parts(row.status.other_currencies, row.status.left_out),
            shown=False,
        ),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render the list, the most urgent first. `?status=` and `?scope=` filter it."""
    context: dict[str, Any] = {"cap": limit_of(request.account, "BUDGETS_PER_ACCOUNT")}
    try:
        sources = load_sources(request.account).for_planning
        statuses = budget_statuses(request.account, sources=sources)
    except UserError as problem:
        return render(request, "budgets/budgets.html", {**context, "error": problem.message})
    listing = BUDGETS.listing(request, [BudgetEntry(each, bar_of(each)) for each in statuses])
    if wants_csv(request):
        return BUDGETS.csv(listing.matches, " ".join(source_notes(request.account, sources).warnings))
    context |= {
        "listing": listing,
        "view": apply_overrides(sources.view, basis=None, charge_categories=()),
        "mcp_arguments": as_arguments(BudgetsQuery(statuses=_statuses(request.GET.get("status", "")))),
        "suggestion": None if statuses else _first_suggestion(request),
    }
    return render(request, "budgets/budgets.html", context)


def _statuses(status: str) -> list[Any]:
    return [status] if status in STATUSES else []


def _first_suggestion(request: AccountRequest) -> Any:
    try:
        result = suggestion(request.account, Budget(account=request.account))
    except UserError:
        # Optional: the page explains budgets without it.
        return None
    return result if result.amount is not None else None


@account_page()
@require_safe
def at_risk(request: AccountRequest) -> HttpResponse:
    """Render the overview's tile and panel of budgets that are at risk or exceeded, most urgent first. htmx loads
    both."""
    try:
        statuses = budget_statuses(request.account)
    except UserError as problem:
        return render(request, "budgets/_at_risk.html", {"error": problem.message})
    risky = [each for each in statuses if each.status != OK]
    risky.sort(key=lambda each: (WORST_FIRST[each.status], -(each.spent_percent or 0)))
    context = {
        "risky": risky[:MAX_AT_RISK],
        "more": max(0, len(risky) - MAX_AT_RISK),
        "exceeded": sum(each.status == EXCEEDED for each in risky),
        "warning": sum(each.status == WARNING for each in risky),
        "without_forecast": sum(each.forecast is None for each in statuses),
        "through": min((each.data_through for each in statuses if each.data_through), default=None),
        "count": len(statuses),
    }
    return render(request, "budgets/_at_risk.html", context)

"""Savings: the list of what could be saved."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.insights.cost_scope import scope_from_params
from finops.insights.savings.answers import Recommendation
from finops.insights.savings.queries import ALL_ROWS, list_savings
from finops.insights.savings.rules import PRECEDENCE, RULES
from finops.insights.savings.savings_query import STATUSES, SavingsQuery
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, listing, wants_csv
from finops.lib.params import as_arguments

LEVELS = {"low": 0, "medium": 1, "high": 2}

COLUMNS: list[Column[Recommendation]] = [
    Column("title", "Recommendation", lambda row: row.title),
    Column("id", "Id", lambda row: row.id, shown=False),
    Column("rule", "Rule", lambda row: RULES[row.rule].label, shown=False),
    Column("source", "Source", lambda row: row.source, shown=False),
    Column("provider", "Provider", lambda row: row.provider, shown=False),
    Column("service", "Service", lambda row: row.service, shown=False),
    Column("account", "Account", lambda row: row.account, shown=False),
    Column("saving", "Saving a month", lambda row: row.monthly_saving, numeric=True),
    Column("waste", "Waste a month", lambda row: row.monthly_waste, shown=False),
    Column("cost", "Cost a month", lambda row: row.monthly_cost, numeric=True),
    Column("currency", "Currency", lambda row: row.currency, shown=False),
    Column("effort", "Effort", lambda row: LEVELS[row.effort]),
    Column("risk", "Risk", lambda row: LEVELS[row.risk]),
    Column("status", "Status", lambda row: row.status),
    Column("formula", "Formula", lambda row: row.formula, shown=False),
    Column("reason", "Why no amount", lambda row: row.saving_reason, shown=False),
    Column("note", "Note", lambda row: row.note, shown=False),
    Column("acted_on", "Acted on", lambda row: row.acted_on, shown=False),
    Column("realised", "Realised a month", lambda row: row.realised and row.realised.saved, shown=False),
    Column(
        "waste_avoided",
        "Waste avoided a month",
        lambda row: row.realised and row.realised.waste_avoided,
        shown=False,
    ),
]
EXPORTED = [
    Column("effort", "Effort", lambda row: row.effort)
    if column.name == "effort"
    else Column("risk", "Risk", lambda row: row.risk)
    if column.name == "risk"
    else column
    for column in COLUMNS
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?status=`, `?rule=`, `?service=` and the parameters of a scope narrow the list; the largest saving comes first."""
    status_param = request.GET.get("status", "")
    status = status_param if status_param in STATUSES else "open"
    rule = request.GET.get("rule", "")
    service = request.GET.get("service", "")
    scope = scope_from_params(request.GET.dict())
    error = ""
    try:
        answer = list_savings(
            request.account, SavingsQuery(status="all", limit=ALL_ROWS, **scope), evidence=3
        )
    except UserError as problem:
        error, scope = problem.message, {}
        answer = list_savings(request.account, SavingsQuery(status="all", limit=ALL_ROWS), evidence=3)
    ours = [row for row in answer.recommendations if _matches_filters(row, rule, service)]
    rows = [row for row in ours if status in ("all", row.status)]
    shown = listing(request, rows, COLUMNS, order="-saving")
    if wants_csv(request):
        return csv_of("savings", EXPORTED, shown.rows)
    counts = Counter(row.status for row in ours)
    context: dict[str, Any] = {
        "answer": answer,
        "listing": shown,
        "status": status,
        "statuses": [(each, counts.total() if each == "all" else counts[each]) for each in STATUSES],
        "rule": rule,
        "rules": [(each.name, each.label) for each in PRECEDENCE],
        "labels": {each.name: each.label for each in PRECEDENCE},
        "service": service,
        "services": [(name, name) for name in _services(answer.recommendations)],
        "mcp_arguments": as_arguments(_question(status, rule, scope)),
        "scope": scope,
        "error": error,
    }
    return render(request, "insights/savings.html", context, status=400 if error else 200)


def _question(status: str, rule: str, scope: dict[str, str]) -> SavingsQuery:
    return msgspec.convert({"status": status, "rule": rule if rule in RULES else None, **scope}, SavingsQuery)


def _matches_filters(row: Recommendation, rule: str, service: str) -> bool:
    return rule in ("", row.rule) and (not service or service in _services_of(row))


def _services(rows: list[Recommendation]) -> list[str]:
    return sorted({name for row in rows for name in _services_of(row)} - {""})


def _services_of(row: Recommendation) -> list[str]:
    return row.services or [row.service]

"""Anomalies: the list, and what the overview says of them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.costs.queries.sources import load_sources
from finops.insights import queries
from finops.insights.anomalies_query import STATES, AnomaliesQuery
from finops.insights.anomaly_charts import spark_values
from finops.insights.answers import AnomalyRow
from finops.insights.cost_scope import CostScope, scope_from_params
from finops.insights.models import AnomalyRun
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, listing, wants_csv
from finops.lib.params import as_arguments

RANK = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True)
class Line:
    """An anomaly as the list shows it."""

    row: AnomalyRow
    spark: list[Decimal | None]
    kind: str

    @property
    def name(self) -> str:
        return self.row.name or self.row.value

    @property
    def cause(self) -> str:
        causes = [each.name or each.value for each in self.row.root_causes]
        return causes[0] if causes else ""


COLUMNS: list[Column[Line]] = [
    Column("severity", "Severity", lambda line: RANK[line.row.severity]),
    Column("name", "What", lambda line: line.name),
    Column("id", "Id", lambda line: line.row.id, shown=False),
    Column("dimension", "Dimension", lambda line: line.row.dimension, shown=False),
    Column("source", "Source", lambda line: line.row.source, shown=False),
    Column("kind", "Kind", lambda line: line.kind, shown=False),
    Column("impact", "Impact", lambda line: line.row.impact, numeric=True),
    Column("month_end", "At month end", lambda line: line.row.month_end_impact, numeric=True),
    Column("first", "Since", lambda line: line.row.first_day),
    Column("last", "Last day", lambda line: line.row.last_day),
    Column("ongoing", "Goes on", lambda line: "yes" if line.row.ongoing else "no", shown=False),
    Column("actual", "Actual", lambda line: line.row.actual, numeric=True, shown=False),
    Column("expected", "Expected", lambda line: line.row.expected, numeric=True, shown=False),
    Column("currency", "Currency", lambda line: line.row.currency, shown=False),
    Column("state", "State", lambda line: line.row.state),
    Column("cause", "Root cause", lambda line: line.cause, shown=False),
    Column("also", "Also seen as", lambda line: ", ".join(line.row.also_seen_as), shown=False),
    Column("note", "Note", lambda line: line.row.note, shown=False),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?state=` and the parameters of a scope narrow the list: open by default; the most severe come first."""
    state_param = request.GET.get("state", "")
    state = state_param if state_param in STATES else "open"
    rows = queries.primary_anomalies().select_related("source").prefetch_related("views")
    if state != "all":
        rows = rows.filter(state=state)
    sources = load_sources(request.account)
    scope, error = scope_from_params(request.GET.dict()), ""
    if scope:
        try:
            scoped = queries.anomalies_in_scope(request.account, rows, CostScope(**scope), sources)
            rows = rows.filter(pk__in=list(scoped.impacts))
        except UserError as problem:
            scope, error = {}, problem.message
    lines = [Line(queries.row_of(row), spark_values(row), row.get_kind_display()) for row in rows]
    shown = listing(request, lines, COLUMNS, order="severity")
    if wants_csv(request):
        return csv_of("anomalies", COLUMNS, shown.rows)
    counts = queries.state_counts()
    run = AnomalyRun.objects.first()
    query = AnomaliesQuery(state=state, **scope)
    context: dict[str, Any] = {
        "listing": shown,
        "state": state,
        "states": [(each, counts.total() if each == "all" else counts[each]) for each in STATES],
        "known": counts.total(),
        "run": run,
        "mcp_arguments": as_arguments(query),
        "not_complete": queries.not_complete(sources, query),
        "scope": scope,
        "error": error,
    }
    return render(request, "insights/anomalies.html", context, status=400 if error else 200)


@account_page()
@require_safe
def tile(request: AccountRequest) -> HttpResponse:
    """The part of the overview that htmx brings after it: open anomalies, the worst first."""
    return render(
        request,
        "insights/_open_anomalies.html",
        {"open": queries.open_anomalies(), "run": AnomalyRun.objects.first()},
    )

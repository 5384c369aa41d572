"""Commitments: the query of the tool `getCommitmentUtilization`, its state in the URL, its answer as charts, table, CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.costs.dimensions import registry
from finops.costs.spend_query import query_from_params
from finops.costs.views.choices import GRANULARITIES, OPS, PERIODS, dimension_choices
from finops.insights.charts import commitment_charts
from finops.insights.commitments.answers import CommitmentRow
from finops.insights.commitments.commitment_query import CommitmentQuery
from finops.insights.commitments.queries import commitment_utilization
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, wants_csv
from finops.lib.params import as_arguments
from finops.lib.query_page import render_query_page

ALL_ROWS = 1_000_000
ROWS_BY = [("commitment", "Commitment"), ("type", "Type")]
FIRST_QUESTION = CommitmentQuery(period="last_30_days", granularity="day")

COLUMNS: list[Column[CommitmentRow]] = [
    Column("commitment", "Commitment", lambda row: row.commitment),
    Column("name", "Name", lambda row: row.name),
    Column("type", "Type", lambda row: row.type),
    Column("provider", "Provider", lambda row: row.provider),
    Column("currency", "Currency", lambda row: row.currency),
    Column("committed_cost", "Committed", lambda row: row.committed_cost),
    Column("used_cost", "Used", lambda row: row.used_cost),
    Column("unused_cost", "Unused", lambda row: row.unused_cost),
    Column("utilization", "Utilization", lambda row: row.utilization),
    Column("utilization_reason", "Why none", lambda row: row.utilization_reason),
    Column("on_demand_cost", "On demand", lambda row: row.on_demand_cost),
    Column("net_savings", "Net savings", lambda row: row.net_savings),
    Column("commitment_savings_rate", "Savings rate of commitment", lambda row: row.commitment_savings_rate),
    Column("purchased_amount", "Purchases billed", lambda row: row.purchased_amount),
    Column("expires_on", "Ends on", lambda row: row.expires_on),
    Column("expires_reason", "How known", lambda row: row.expires_reason),
    Column("starts_on", "Term from", lambda row: row.starts_on),
    Column("scope", "Scope", lambda row: row.scope),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """The whole page, its result alone for htmx, or every row as CSV. A bad query: 400 with what to mend."""
    query, status = FIRST_QUESTION, 200
    context: dict[str, Any] = {}
    try:
        query = query_from_params(dict(request.GET.lists()), FIRST_QUESTION)
        if wants_csv(request):
            answer = commitment_utilization(request.account, structs.replace(query, top=ALL_ROWS))
            return csv_of("commitments", COLUMNS, answer.rows)
        answer = commitment_utilization(request.account, query)
        context |= {
            "answer": answer,
            "charts": commitment_charts(answer, query.granularity),
            "mcp_arguments": as_arguments(query),
        }
    except UserError as problem:
        status, context["error"] = 400, problem.message
    return render_query_page(
        request,
        page="insights/commitments.html",
        result="insights/_commitments_result.html",
        context={**context, "query": query, "params": query.to_params()},
        choices=lambda: _choices(request, query),
        status=status,
    )


def _choices(request: AccountRequest, query: CommitmentQuery) -> dict[str, Any]:
    keys = lake_queries.tag_keys(request.account)
    return {
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "dimensions": dimension_choices(registry.kinds(), keys, [item.dimension for item in query.filters]),
        "periods": PERIODS,
        "granularities": GRANULARITIES,
        "rows_by": ROWS_BY,
        "ops": OPS,
    }

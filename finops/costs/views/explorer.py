"""Cost explorer: the query of the tool `querySpend`, its state in the URL, its answer as chart, table and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.costs.answers import SpendAnswer, SpendRow
from finops.costs.charts import row_name, series_tables
from finops.costs.dimensions import registry
from finops.costs.queries import list_dimension_values, query_spend
from finops.costs.queries.cost_view import ALL, CHARGE_CATEGORIES
from finops.costs.queries.spend_lake import COST_COLUMNS
from finops.costs.spend_query import DEFAULT_TOP, MAX_GROUPS, QUANTITIES, SpendQuery, query_from_params
from finops.costs.views.choices import (
    BASES,
    COMPARISONS,
    GRANULARITIES,
    MEASURES,
    OPS,
    ORDERS,
    PERIODS,
    SPLITS,
    TOPS,
    dimension_choices,
)
from finops.lake import queries as lake_queries
from finops.lib import amounts
from finops.lib.errors import UserError
from finops.lib.listing import csv_cell, csv_response, wants_csv
from finops.lib.params import as_arguments
from finops.lib.query_page import render_query_page

ALL_ROWS = 1_000_000
SUGGESTIONS = 20
FIRST_QUESTION = SpendQuery(
    period="last_30_days", granularity="day", group_by=["service"], compare_to="previous_period"
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """The whole page, its result alone for htmx, or all rows as CSV. A bad query: 400 with what to mend."""
    params = dict(request.GET.lists())
    status, answer, error = 200, None, ""
    query = FIRST_QUESTION
    try:
        query = query_from_params(params, FIRST_QUESTION)
        if wants_csv(request):
            return _csv(query_spend(request.account, structs.replace(query, top=ALL_ROWS)))
        answer = query_spend(request.account, query, with_notes=True)
    except UserError as problem:
        status, error = 400, problem.message
    context: dict[str, Any] = {"query": query, "answer": answer, "error": error, "params": query.to_params()}
    if answer is not None:
        context |= {"tables": series_tables(answer), "mcp_arguments": as_arguments(query)}
    return render_query_page(
        request,
        page="costs/explorer.html",
        result="costs/_explorer_result.html",
        context=context,
        choices=lambda: question_choices(request, query),
        status=status,
    )


def question_choices(request: AccountRequest, query: SpendQuery) -> dict[str, Any]:
    """What the form of a question about spend offers."""
    keys = lake_queries.tag_keys(request.account)
    selected = [*query.group_by, *(item.dimension for item in query.filters)]
    groups: list[str] = [*query.group_by, *[""] * MAX_GROUPS][:MAX_GROUPS]
    return {
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "dimensions": dimension_choices(registry.kinds(), keys, selected),
        "group_fields": list(enumerate(groups, start=1)),
        "periods": PERIODS,
        "granularities": GRANULARITIES,
        "bases": BASES,
        "comparisons": COMPARISONS,
        "orders": ORDERS,
        "splits": SPLITS,
        "measures": MEASURES,
        "categories": CHARGE_CATEGORIES,
        "ticked": CHARGE_CATEGORIES if ALL in query.charge_categories else query.charge_categories,
        "more": bool(query.basis or query.charge_categories or query.top != DEFAULT_TOP),
        "ops": OPS,
        "tops": TOPS,
    }


@account_page()
@require_safe
def values(request: AccountRequest) -> HttpResponse:
    """What a filter's text field suggests: the dimension's values that hold the text, by cost."""
    dimension = request.GET.get("dimension", "")
    if not dimension:
        return JsonResponse({"values": []})
    try:
        answer = list_dimension_values(
            request.account, dimension, search=request.GET.get("q", ""), limit=SUGGESTIONS
        )
    except UserError as problem:
        return JsonResponse({"values": [], "error": problem.message}, status=400)
    rows = [{"value": each.value, "hint": _hint(each.label, each.amounts)} for each in answer.values]
    return JsonResponse({"values": rows, "more": answer.total_values > len(rows)})


def _hint(label: str, costs: list[Any]) -> str:
    spent = [f"{amounts.display_amount(cost.amount)} {cost.currency}" for cost in costs[:2]]
    return " · ".join([part for part in (label, *spent) if part])


def _csv(answer: SpendAnswer) -> HttpResponseBase:
    """Every row of the answer, exact amounts; a query without groups gives its totals."""
    buckets = list(answer.totals[0].series) if answer.totals else []
    is_quantity = answer.view.basis in QUANTITIES
    header = [
        *answer.group_by,
        *[f"{name} name" for name in answer.group_by],
        "unit" if is_quantity else "currency",
        "quantity" if is_quantity else "amount",
        "share",
        "previous quantity" if is_quantity else "previous amount",
        "change",
        "change ratio",
        *buckets,
    ]
    lines = _group_lines(answer, buckets) if answer.group_by else _total_lines(answer, buckets)
    return csv_response(
        f"{_file_name(answer)}-{answer.period.start_date}-{answer.period.end_date}", header, lines
    )


def _file_name(answer: SpendAnswer) -> str:
    return "spend" if answer.view.basis in COST_COLUMNS else answer.view.basis.replace("_", "-")


def _group_lines(answer: SpendAnswer, buckets: list[str]) -> Iterator[list[str]]:
    for row in answer.rows:
        yield [*_group_cells(answer, row), *_figures(row, row.share, buckets)]


def _group_cells(answer: SpendAnswer, row: SpendRow) -> list[str]:
    if row.other_groups:
        return [csv_cell(row_name(row))] * (2 * len(answer.group_by))
    values_of = [row.group[name] for name in answer.group_by]
    names = [row.labels.get(name, row.group[name]) for name in answer.group_by]
    return [csv_cell(text) for text in [*values_of, *names]]


def _total_lines(answer: SpendAnswer, buckets: list[str]) -> Iterator[list[str]]:
    for total in answer.totals:
        yield _figures(total, Decimal(1), buckets)


def _figures(row: Any, share: Decimal | None, buckets: list[str]) -> list[str]:
    change = row.change
    compared = [change.previous_amount, change.change, change.ratio] if change else [None] * 3
    cells = [row.amount, share, *compared, *[row.series.get(day) for day in buckets]]
    return [csv_cell(row.currency), *[csv_cell(cell) for cell in cells]]

"""Usage: the query of the tool `queryUsage`, its state in the URL, its answer as chart, table and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.lib.choices import GRANULARITIES, PERIODS, TOPS
from finops.lib.errors import UserError
from finops.lib.listing import csv_cell, csv_response, wants_csv
from finops.lib.params import as_arguments
from finops.lib.query_page import render_query_page
from ingestion.answers import UsageAnswer
from ingestion.charts import row_name, usage_table
from ingestion.choices import dimension_choices, field_value
from ingestion.models import UsageMetric
from ingestion.queries import find_metric, first_metric, metrics_of, query_usage, suggest_values
from ingestion.queries.resolution import PREFIX
from ingestion.usage_query import CUSTOMER, UsageQuery

SUGGESTIONS = 20
CUSTOM = "custom"
FIRST_QUESTION = UsageQuery(granularity="day", group_by=CUSTOMER)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """The whole page, its result alone for htmx, or all rows as CSV. A bad query: 400 with what to mend."""
    metrics = metrics_of(request.account)
    if not metrics:
        return render(request, "ingestion/usage_empty.html", {})
    status, answer, error = 200, None, ""
    query = FIRST_QUESTION
    try:
        query = _query_from_params(dict(request.GET.lists()), metrics)
        if wants_csv(request):
            return _csv(query_usage(request.account, query, all_groups=True))
        answer = query_usage(request.account, query)
    except UserError as problem:
        status, error = 400, problem.message
    context: dict[str, Any] = {"query": query, "answer": answer, "error": error, "params": query.to_params()}
    if answer is not None:
        context |= {"table": usage_table(answer), "mcp_arguments": as_arguments(query)}
    return render_query_page(
        request,
        page="ingestion/usage.html",
        result="ingestion/_usage_result.html",
        context=context,
        choices=lambda: _choices(request, query, metrics),
        status=status,
    )


def _query_from_params(params: dict[str, list[str]], metrics: list[UsageMetric]) -> UsageQuery:
    """The question of the URL, its metric said: the form has to show which one is meant."""
    values_by_name = {name: [value for value in values if value != CUSTOM] for name, values in params.items()}
    has_query = any(name in UsageQuery.__struct_fields__ or name == "f0" for name in values_by_name)
    query = UsageQuery.from_params(values_by_name) if has_query else FIRST_QUESTION
    return query if query.metric else structs.replace(query, metric=first_metric(metrics))


def _choices(request: AccountRequest, query: UsageQuery, metrics: list[UsageMetric]) -> dict[str, Any]:
    filters = [{"dimension": field_value(item.dimension), "values": item.values} for item in query.filters]
    if query.customers:
        filters.insert(0, {"dimension": CUSTOMER, "values": query.customers})
    used = [query.group_by, *(str(item["dimension"]) for item in filters)]
    dimensions = dimension_choices(request.account, used)
    return {
        "values_url": reverse("usage_values", args=[request.account.slug]),
        "metrics": [(metric.name, str(metric)) for metric in metrics],
        "chosen_metric": _name_of(query.metric, metrics),
        "groups": dimensions.choices,
        "typed": not dimensions.whole,
        "filters": filters,
        "periods": PERIODS,
        "granularities": GRANULARITIES,
        "tops": TOPS,
    }


def _name_of(name: str, metrics: list[UsageMetric]) -> str:
    try:
        return find_metric(metrics, name).name
    except UserError:
        return ""


@account_page()
@require_safe
def values(request: AccountRequest) -> HttpResponse:
    """What a filter's text field suggests: customers or a dimension's values that hold the text."""
    dimension = request.GET.get("dimension", "")
    if not dimension:
        return JsonResponse({"values": []})
    try:
        suggestions = suggest_values(
            request.account, dimension, search=request.GET.get("q", ""), limit=SUGGESTIONS
        )
    except UserError as problem:
        return JsonResponse({"values": [], "error": problem.message}, status=400)
    return JsonResponse({"values": [{"value": each.value, "hint": each.hint} for each in suggestions]})


def _csv(answer: UsageAnswer) -> HttpResponseBase:
    """Every row of the answer, exact quantities; a query without groups gives its total."""
    buckets = list(answer.quantity_series)
    group = [answer.group_by.removeprefix(PREFIX), "name"] if answer.group_by else []
    header = [*group, "metric", "aggregation", "unit", "quantity", "share", "days with data", *buckets]
    days = f"{answer.period.start_date}-{answer.period.end_date}"
    return csv_response(f"usage-{answer.metric}-{days}", header, _lines(answer, buckets))


def _lines(answer: UsageAnswer, buckets: list[str]) -> Iterator[list[str]]:
    about = [answer.metric, answer.aggregation, answer.unit]
    if not answer.group_by:
        share = Decimal(1) if answer.quantity is not None else None
        figures = [answer.quantity, share, answer.days_with_data]
        yield [csv_cell(cell) for cell in [*about, *figures, *answer.quantity_series.values()]]
    for row in answer.rows:
        series = [row.quantity_series.get(day) for day in buckets]
        cells = [row.value, row_name(row), *about, row.quantity, row.share, row.days_with_data, *series]
        yield [csv_cell(cell) for cell in cells]

"""Forecast: the query of the tool `forecastSpend`, its state in the URL, its answer as charts, table and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.budgets.forecast_answers import ForecastAnswer
from finops.budgets.forecast_charts import ForecastChart, charts_of
from finops.budgets.forecast_query import DEFAULT_TOP, ForecastQuery
from finops.budgets.queries import forecast_figures, forecast_spend
from finops.costs.dimensions import registry
from finops.costs.models import Basis
from finops.costs.queries.cost_view import ALL, CHARGE_CATEGORIES
from finops.costs.queries.sources import load_sources
from finops.costs.views.choices import BASES, OPS, SPLITS, default_basis, dimension_choices
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from finops.lib.listing import csv_cell, csv_response, wants_csv
from finops.lib.params import as_arguments
from finops.lib.query_page import render_query_page

ALL_ROWS = 1_000_000
FIRST_QUESTION = ForecastQuery(group_by=["service"])
PERIODS = [
    ("month", "This month"),
    ("quarter", "This quarter"),
    ("year", "This year"),
    ("next_days", "Next days"),
]
TOPS = [(count, f"Top {count}") for count in (5, 10, 25)]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """The whole page, its result alone for htmx, or its figures as CSV. A bad question: 400 with what to mend."""
    query, status, error = FIRST_QUESTION, 200, ""
    figures = None
    context: dict[str, Any] = {}
    try:
        query = _query_from_params(dict(request.GET.lists()))
        if wants_csv(request):
            return _csv(request, query)
        figures = forecast_figures(request.account, query)
        context = {
            "answer": figures.answer,
            "charts": charts_of(figures),
            "mcp_arguments": as_arguments(query),
        }
    except UserError as problem:
        status, error = 400, problem.message
    context |= {"query": query, "error": error, "params": query.to_params()}
    context["default_basis"] = default_basis(query.basis, figures.answer.view if figures else None)
    return render_query_page(
        request,
        page="budgets/forecast.html",
        result="budgets/_forecast_result.html",
        context=context,
        choices=lambda: _choices(request, query),
        status=status,
    )


@account_page()
@require_safe
def month_end(request: AccountRequest) -> HttpResponse:
    """The part of the overview that htmx brings after it: what the month will come to, in the basis of the spend that the
    overview shows beside it."""
    try:
        sources = load_sources(request.account)
        query = ForecastQuery(basis="amortized" if sources.view.basis == Basis.AMORTIZED else "billed")
        context: dict[str, Any] = {"answer": forecast_spend(request.account, query, sources=sources)}
    except UserError as problem:
        context = {"error": problem.message}
    return render(request, "budgets/_month_end.html", context)


def _query_from_params(params: dict[str, list[str]]) -> ForecastQuery:
    """The question of the URL; the charts have their own days or months, whatever granularity it names."""
    if not any(name in ForecastQuery.__struct_fields__ or name == "f0" for name in params):
        return FIRST_QUESTION
    return structs.replace(ForecastQuery.from_params(params), granularity="none")


def _choices(request: AccountRequest, query: ForecastQuery) -> dict[str, Any]:
    keys = lake_queries.tag_keys(request.account)
    used = [*query.group_by, *(item.dimension for item in query.filters)]
    return {
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "dimensions": dimension_choices(registry.kinds(), keys, used),
        "group_fields": [(1, query.group_by[0] if query.group_by else "")],
        "periods": PERIODS,
        "splits": SPLITS,
        "bases": BASES,
        "categories": CHARGE_CATEGORIES,
        "ticked": CHARGE_CATEGORIES if ALL in query.charge_categories else query.charge_categories,
        "more": bool(query.charge_categories or query.top != DEFAULT_TOP),
        "ops": OPS,
        "tops": TOPS,
    }


AMOUNTS = ["currency", "spent", "remaining", "expected", "from", "to", "reason"]
EARLIER = ["period before", "change", "change ratio", "error of earlier forecasts"]


def _csv(request: AccountRequest, query: ForecastQuery) -> HttpResponseBase:
    """Every group; without groups the totals by day or month. Exact amounts."""
    figures = forecast_figures(request.account, structs.replace(query, top=ALL_ROWS))
    answer = figures.answer
    name = f"forecast-{answer.period.start_date}-{answer.period.end_date}"
    if answer.group_by:
        return csv_response(name, [*answer.group_by, "name", *AMOUNTS, *EARLIER], _group_lines(answer))
    return csv_response(
        name, ["day or month", "currency", "spent", "expected", "from", "to"], _lines(charts_of(figures))
    )


def _group_lines(answer: ForecastAnswer) -> Iterator[list[str]]:
    for row in answer.rows:
        (dimension, value), change, tested = next(iter(row.group.items())), row.change, row.back_test
        cells = [
            value,
            row.labels.get(dimension, value),
            row.currency,
            row.actual,
            row.remaining,
            row.expected,
            row.lower,
            row.upper,
            row.reason,
            *([change.previous_amount, change.change, change.ratio] if change else [None] * 3),
            tested.error_share if tested else None,
        ]
        yield [csv_cell(cell) for cell in cells]


def _lines(charts: list[ForecastChart]) -> Iterator[list[str]]:
    for chart in charts:
        for point in chart.points:
            band = point.expected
            expected = [band.mean, band.lower, band.upper] if band else [None] * 3
            yield [csv_cell(cell) for cell in [point.label, chart.currency, point.spent, *expected]]

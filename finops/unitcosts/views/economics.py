"""Unit economics: the query of the tool `queryUnitCost`, its state in the URL, its answer as charts, tables and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from accounts.models import Role
from finops.allocation.queries.splits import has_splits_on
from finops.costs.dimensions import registry
from finops.costs.queries.cost_view import ALL, CHARGE_CATEGORIES
from finops.costs.spend_query import query_from_params
from finops.costs.views.choices import (
    BASES,
    COMPARISONS,
    GRANULARITIES,
    OPS,
    PERIODS,
    SPLITS,
    default_basis,
    dimension_choices,
)
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from finops.lib.listing import csv_cell, csv_response, wants_csv
from finops.lib.params import as_arguments, id_of
from finops.lib.query_page import render_query_page
from finops.unitcosts.answers import (
    MATCHED,
    NO_COST,
    NO_CUSTOMER,
    NO_USAGE,
    REST,
    UNKNOWN_CUSTOMER,
    UnitCostAnswer,
    UnitCostRow,
)
from finops.unitcosts.charts import trends
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries import customer_key, query_unit_cost
from finops.unitcosts.queries.cards import per_unit
from finops.unitcosts.queries.customer_suggestions import customer_names, suggestions_by_value
from finops.unitcosts.queries.unit_metrics import find_unit_metric
from finops.unitcosts.saved_question import is_changed, merge_question
from finops.unitcosts.unit_cost_query import DEFAULT_TOP, UnitCostQuery
from ingestion.choices import dimension_choices as usage_dimension_choices
from ingestion.choices import field_value
from ingestion.models import UsageMetric
from ingestion.queries import first_metric, metrics_of

ALL_ROWS = 1_000_000
TOPS = [(count, f"Top {count}") for count in (10, 20, 50, 100)]
SCALES = (1, 100, 1_000, 10_000, 1_000_000)
ORDERS = [("cost", "Largest cost"), ("unit_cost", "Highest unit cost"), ("margin", "Lowest margin")]
MODES = [("total", "In total"), ("per_customer", "By customer")]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """The whole page, its result alone for htmx, or all rows as CSV. A bad question: 400 with what to mend."""
    metrics, key = metrics_of(request.account), customer_key(request.account)
    context: dict[str, Any] = {"metrics": metrics, "key": key}
    query, status, saved = _first_question(request, metrics, key), 200, None
    try:
        query = _query_from_params(dict(request.GET.lists()), query)
        query, saved = _expand_saved(request, query)
        if wants_csv(request):
            return _csv(query, query_unit_cost(request.account, structs.replace(query, top=ALL_ROWS)))
        if query.usage_metric:
            context |= _result(request, query, metrics)
    except UserError as problem:
        status, context["error"] = 400, problem.message
    params = {**query.to_params(), **({"saved": [str(saved.pk)]} if saved else {})}
    context |= {"query": query, "params": params, "saved": saved}
    answer = context.get("answer")
    context["default_basis"] = default_basis(query.basis, answer.view if answer else None)
    context["saved_changed"] = saved is not None and is_changed(saved, query)
    return render_query_page(
        request,
        page="unitcosts/economics.html",
        result="unitcosts/_economics_result.html",
        context=context,
        choices=lambda: _choices(request, query, metrics),
        status=status,
    )


def _first_question(request: AccountRequest, metrics: list[UsageMetric], key: str) -> UnitCostQuery:
    """By customer where there is a key, and with what splits on it allocate."""
    return UnitCostQuery(
        usage_metric=first_metric(metrics),
        mode="per_customer" if key else "total",
        period="last_30_days",
        granularity="day",
        compare_to="previous_period",
        splits="after" if key and has_splits_on(request.account, key) else None,
    )


def _query_from_params(params: dict[str, list[str]], first: UnitCostQuery) -> UnitCostQuery:
    """The question of the URL, of the first metric where it names none."""
    if not any(name in UnitCostQuery.__struct_fields__ or name == "f0" for name in params):
        return first
    if not any(any(params.get(name, ())) for name in ("usage_metric", "unit_metric")):
        params = {**params, "usage_metric": [first.usage_metric]}
    return query_from_params(params, first)


def _expand_saved(request: AccountRequest, query: UnitCostQuery) -> tuple[UnitCostQuery, UnitMetric | None]:
    """The question in full, for the form to show, and the unit metric that it began from."""
    if query.unit_metric:
        metric = find_unit_metric(request.account, query.unit_metric)
        return merge_question(metric, query)[0], metric
    saved = id_of(request.GET.get("saved", ""))
    return query, UnitMetric.objects.filter(pk=saved).first() if saved else None


def _result(request: AccountRequest, query: UnitCostQuery, metrics: list[UsageMetric]) -> dict[str, Any]:
    answer = query_unit_cost(request.account, query, metrics=metrics)
    unit = answer.unit or answer.usage_metric
    return {
        "answer": answer,
        "unit": unit,
        "per_unit": per_unit(query.units, answer.unit, answer.usage_metric),
        "trends": trends(answer, query.granularity, unit),
        "mcp_arguments": as_arguments(query),
        **_rows_context(request, answer),
    }


def _rows_context(request: AccountRequest, answer: UnitCostAnswer) -> dict[str, Any]:
    """The rows by what a person does with them, and for whoever may map values the customers most like them."""
    unknown = _rows(answer, UNKNOWN_CUSTOMER, NO_CUSTOMER)
    may_map = request.membership.may(Role.MEMBER) and any(not row.other_rows for row in unknown)
    names = customer_names(request.account) if may_map else {}
    return {
        "customers": _rows(answer, MATCHED, REST),
        "unknown": unknown,
        "one_sided": _rows(answer, NO_USAGE, NO_COST),
        "names": names,
        "suggested": suggestions_by_value([row.values[0] for row in unknown if row.values], names),
        "next": request.get_full_path(),
    }


def _rows(answer: UnitCostAnswer, *statuses: str) -> list[UnitCostRow]:
    return [row for row in answer.rows if row.status in statuses]


def _choices(request: AccountRequest, query: UnitCostQuery, metrics: list[UsageMetric]) -> dict[str, Any]:
    keys = lake_queries.tag_keys(request.account)
    named = [(metric.name, str(metric)) for metric in metrics]
    usage_filters = [
        {"dimension": field_value(item.dimension), "values": item.values} for item in query.usage_filters
    ]
    strange = [] if query.usage_metric in [name for name, _label in named] else [query.usage_metric]
    usage_dimensions = usage_dimension_choices(
        request.account, [str(item["dimension"]) for item in usage_filters]
    )
    return {
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "metric_choices": [*named, *((name, name) for name in strange if name)],
        "dimensions": dimension_choices(registry.kinds(), keys, [item.dimension for item in query.filters]),
        "usage_values_url": reverse("usage_values", args=[request.account.slug]),
        "usage_filters": usage_filters,
        "usage_dimensions": usage_dimensions.choices,
        "typed": not usage_dimensions.whole,
        "modes": MODES,
        "scales": _scales(query.units),
        "periods": PERIODS,
        "granularities": GRANULARITIES,
        "bases": BASES,
        "comparisons": COMPARISONS,
        "orders": ORDERS,
        "splits": SPLITS,
        "categories": CHARGE_CATEGORIES,
        "ticked": CHARGE_CATEGORIES if ALL in query.charge_categories else query.charge_categories,
        "more": bool(query.charge_categories or query.top != DEFAULT_TOP),
        "ops": OPS,
        "tops": TOPS,
    }


def _scales(chosen: int) -> list[tuple[int, str]]:
    return [(scale, f"{scale:,}") for scale in sorted({*SCALES, chosen})]


def _csv(query: UnitCostQuery, answer: UnitCostAnswer) -> HttpResponseBase:
    """Every row of the answer, exact figures: customers, or in total by bucket where there is a trend."""
    name = f"unit-cost-{answer.usage_metric}-{answer.period.start_date}-{answer.period.end_date}"
    if query.mode == "per_customer":
        return csv_response(name, CUSTOMER_HEADER, _customer_lines(answer))
    return csv_response(name, TOTAL_HEADER, _total_lines(answer))


FIGURES = ["currency", "cost", "usage", "unit cost", "reason"]
CUSTOMER_HEADER = ["customer id", "name", "status", "values", "direct cost", "allocated cost", *FIGURES]
TOTAL_HEADER = ["from", *FIGURES]


def _customer_lines(answer: UnitCostAnswer) -> Iterator[list[str]]:
    for row in answer.rows:
        cells = [
            row.customer_id,
            row.name,
            row.status,
            " | ".join(row.values),
            row.direct_cost,
            row.allocated_cost,
        ]
        yield [csv_cell(cell) for cell in [*cells, *_figures(row)]]


def _total_lines(answer: UnitCostAnswer) -> Iterator[list[str]]:
    for total in answer.totals:
        for bucket in total.buckets:
            yield [csv_cell(cell) for cell in [bucket.start_date, *_figures(bucket)]]
        yield [csv_cell(cell) for cell in ["all", *_figures(total)]]


def _figures(row: Any) -> list[Any]:
    return [row.currency, row.cost, row.usage, row.unit_cost, row.reason]

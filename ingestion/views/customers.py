"""Customers: the list with their usage, and one customer's usage over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.page_access import AccountRequest, account_page
from finops.lib import clock
from finops.lib.choices import GRANULARITIES, PERIODS
from finops.lib.errors import UserError
from finops.lib.formats.numbers import plural
from finops.lib.listing import Column, ListPage, csv_of, wants_csv
from finops.lib.periods import DateRange
from finops.lib.sentences import truncate
from ingestion.charts import marked_usage, usage_days, usage_table
from ingestion.models import Customer, UsageMetric
from ingestion.queries import (
    CustomerMetric,
    CustomerOrder,
    CustomerUsage,
    customer_ids,
    customer_metrics,
    list_customers,
    metric_units,
    metrics_of,
    query_usage,
)
from ingestion.usage_query import UsageQuery

PAGE_ROWS = 100
METRICS_SHOWN = 4
CHARTS = 6
LISTED_DAYS = 30
UNIT_LENGTH = 40


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """List the customers; `?id=` redirects to the page of the customer with this ID."""
    if customer_id := request.GET.get("id"):
        customer = get_object_or_404(Customer.objects.all(), customer_id=customer_id.replace("\x00", ""))
        return redirect("customer", request.account.slug, customer.pk)
    metrics = metrics_of(request.account)
    if not metrics:
        return render(request, "ingestion/usage_empty.html", {"customers": True})
    try:
        declared = ListPage(
            name="customers",
            title="Customers",
            noun="customer",
            order="id",
            css="as-named",
            columns=_columns(metrics, metric_units(request.account, _days())),
        )
        ids = _ordered_ids(request, metrics)
        if wants_csv(request):
            return declared.csv(list_customers(request.account, list(ids), _days(), metrics))
        page: Page[Any] = Paginator(ids, PAGE_ROWS).get_page(request.GET.get("page"))
        page.object_list = list_customers(request.account, list(page.object_list), _days(), metrics)
    except UserError as problem:
        return render(request, "ingestion/customers.html", {"error": problem.message}, status=400)
    context = {
        "listing": declared.listing_of_page(request, page),
        "more_metrics": len(metrics) - METRICS_SHOWN,
    }
    return render(request, "ingestion/customers.html", context)


def _ordered_ids(request: AccountRequest, metrics: list[UsageMetric]) -> QuerySet[Customer, str] | list[str]:
    sort = request.GET.get("sort", "")
    orders: dict[str, CustomerOrder] = {f"m{metric.pk}": metric for metric in metrics}
    orders |= {"name": "name", "first": "first", "last": "last"}
    return customer_ids(
        request.account,
        _days(),
        orders.get(sort.removeprefix("-"), "customer_id"),
        search=request.GET.get("q", ""),
        reverse=sort.startswith("-"),
    )


def _days() -> DateRange:
    today = clock.today()
    return DateRange(today - timedelta(days=LISTED_DAYS - 1), today)


def _columns(metrics: list[UsageMetric], units: Mapping[str, list[str]]) -> list[Column[CustomerUsage]]:
    """Return the columns. Metrics beyond the first METRICS_SHOWN are in the export only."""
    return [
        Column("id", "Customer", lambda row: row.customer_id, css="cell-break"),
        Column("name", "Name", lambda row: row.name, css="cell-name"),
        *[
            Column(
                f"m{metric.pk}",
                _title(metric, units.get(metric.name, [])),
                _usage_cell(metric.name),
                numeric=True,
                shown=index < METRICS_SHOWN,
                format="quantity",
            )
            for index, metric in enumerate(metrics)
        ],
        Column("first", "First event", lambda row: row.first_event, format="ago"),
        Column("last", "Last event", lambda row: row.last_event, format="ago"),
    ]


def _title(metric: UsageMetric, units: list[str]) -> str:
    """Return the metric's name with its unit, such as the currency of revenue, unless the name contains the unit."""
    name = str(metric)
    unit = truncate(plural(units[0], 2), UNIT_LENGTH) if len(units) == 1 else "several units" if units else ""
    return name if unit.lower() in name.lower() else f"{name} ({unit})"


def _usage_cell(metric: str) -> Callable[[CustomerUsage], Decimal | None]:
    return lambda row: row.used.get(metric)


METRIC_COLUMNS: list[Column[CustomerMetric]] = [
    Column("metric", "Metric", lambda row: row.metric),
    Column("events", "Events", lambda row: row.events, numeric=True),
    Column("first", "First event", lambda row: row.first_event),
    Column("last", "Last event", lambda row: row.last_event),
]


@account_page()
@require_safe
def customer(request: AccountRequest, customer_pk: int) -> HttpResponseBase:
    """Show the usage over time of every metric that the customer has events of. 400 with what to correct for a bad
    query."""
    row = get_object_or_404(Customer.objects.all(), pk=customer_pk)
    try:
        metrics = customer_metrics(request.account, row.customer_id)
        if wants_csv(request):
            return csv_of(f"metrics-{row.customer_id}", METRIC_COLUMNS, metrics)
        status, context = 200, _charts(request, row, metrics)
    except UserError as problem:
        status, context = 400, {"error": problem.message}
    choices = {"customer": row, "periods": PERIODS, "granularities": GRANULARITIES[1:]}
    return render(request, "ingestion/customer.html", choices | context, status=status)


def _charts(request: AccountRequest, row: Customer, metrics: list[CustomerMetric]) -> dict[str, Any]:
    """Return the charts of the CHARTS metrics with the most events. Three queries and a lake query for each."""
    query = _customer_query(request, row)
    listed = _days()
    days = {} if query.names_days else {"start_date": listed.start, "end_date": listed.end}
    queries = [structs.replace(query, usage_metric=metric.metric, **days) for metric in metrics[:CHARTS]]
    answers = [query_usage(request.account, each) for each in queries]
    usage_tables = [usage_table(answer) for answer in answers]
    tables, markers = marked_usage(usage_tables, usage_days(answers[0])) if answers else ([], [])
    return {
        "found": metrics,
        "query": query,
        "more_metrics": len(metrics) - CHARTS,
        "markers": markers,
        "shown": [
            (answer, table, each.to_params())
            for answer, table, each in zip(answers, tables, queries, strict=True)
        ],
    }


def _customer_query(request: AccountRequest, row: Customer) -> UsageQuery:
    params = {name: request.GET.getlist(name) for name in ("period", "granularity")}
    query = UsageQuery.from_params(params)
    granularity = "day" if query.granularity == "none" else query.granularity
    return structs.replace(query, granularity=granularity, customers=[row.customer_id])

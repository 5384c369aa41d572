"""Settings → Metrics: the account's metrics, and how their quantities add up over time. Members change them."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage
from ingestion import services
from ingestion.forms import MetricForm
from ingestion.models import UsageMetric
from ingestion.queries import MetricInfo, usage_metrics
from ingestion.queries.metrics import metrics_of


@dataclasses.dataclass(frozen=True)
class MetricRow:
    """A row of the list of metrics."""

    pk: int
    info: MetricInfo

    @property
    def aggregation(self) -> str:
        return str(UsageMetric.Aggregation(self.info.aggregation).label)


METRICS = ListPage[MetricRow](
    name="usage-metrics",
    title="Metrics",
    noun="metric",
    order="metric",
    columns=[
        Column("metric", "Metric", lambda row: row.info.name),
        Column("label", "Label", lambda row: row.info.label),
        Column("aggregation", "Aggregation", lambda row: row.aggregation, css="nowrap"),
        Column("units", "Units", lambda row: row.info.units),
        Column("first", "First day", lambda row: row.info.first_day, css="nowrap"),
        Column("last", "Last day", lambda row: row.info.last_day, css="nowrap"),
    ],
)


@dataclasses.dataclass(frozen=True)
class Example:
    """An aggregation, what it is suitable for, and its result for EXAMPLE_EVENTS."""

    aggregation: str
    label: str
    suits: str
    says: str
    answer: Decimal


EXAMPLE_EVENTS: Final = (
    ("Monday", "A", Decimal(10)),
    ("Monday", "A", Decimal(2)),
    ("Tuesday", "A", Decimal(6)),
    ("Tuesday", "B", Decimal(4)),
)
"""Events of one metric on two days."""

EXAMPLES: Final = (
    Example("sum", "Sum", "requests, orders, gigabytes sent", "10 + 2 + 6 + 4", Decimal(22)),
    Example(
        "average_of_days",
        "Average of days",
        "seats, gigabytes stored, when each day reports its level once",
        "(12 on Monday + 10 on Tuesday) ÷ 2 days",
        Decimal(11),
    ),
    Example("last", "Last value", "plan seats at the end of a month", "6 of A + 4 of B", Decimal(10)),
    Example("max", "Highest value", "peak seats, peak connections", "10 of A + 4 of B", Decimal(14)),
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    try:
        infos, problem = usage_metrics(request.account), ""
    except UserError as error:  # the lake cannot answer: labels and aggregations are in PostgreSQL
        infos, problem = [_without_days(metric) for metric in metrics_of(request.account)], error.message
    ids = {metric.name: metric.pk for metric in metrics_of(request.account)}
    rows = [MetricRow(ids[info.name], info) for info in infos]
    context = {"problem": problem, "examples": EXAMPLES, "events": EXAMPLE_EVENTS}
    return METRICS.response(request, rows, "ingestion/metrics.html", context)


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def metric(request: AccountRequest, usage_metric_id: int) -> HttpResponse:
    """Show or change a metric's label and aggregation. Raises PermissionDenied for a change by a viewer."""
    row = get_object_or_404(UsageMetric.objects.select_related("account"), pk=usage_metric_id)
    if request.method != "POST":
        return _page(request, row, MetricForm(initial={"label": row.label, "aggregation": row.aggregation}))
    if not request.membership.may(Role.MEMBER):
        raise PermissionDenied("Requires the role Member.")
    form = MetricForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.set_metric(
                account=request.account, actor=request.actor, name=row.name, **form.cleaned_data
            )
            messages.success(request, _saved_message(row, form.cleaned_data["aggregation"]))
            return redirect("usage_metrics", slug=request.account.slug)
    return _page(request, row, form)


def _saved_message(before: UsageMetric, aggregation: str) -> str:
    if before.aggregation == aggregation:
        return f"{before.name} is saved."
    label = UsageMetric.Aggregation(aggregation).label
    return f"Aggregation of {before.name} set to “{label}”."


def _without_days(metric: UsageMetric) -> MetricInfo:
    return MetricInfo(
        name=metric.name,
        label=metric.label,
        aggregation=metric.aggregation,
        units=[],
        first_day=None,
        last_day=None,
    )


def _page(request: AccountRequest, row: UsageMetric, form: MetricForm) -> HttpResponse:
    context = {"metric": row, "form": form, "examples": EXAMPLES, "events": EXAMPLE_EVENTS}
    return render(request, "ingestion/metric.html", context, status=422 if form.errors else 200)

"""Usage: the query of the tool `queryUsage`, its state in the URL, its answer as chart, table and CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.page_access import AccountRequest, account_page
from finops.lib.choices import GRANULARITIES, PERIODS, TOPS
from finops.lib.errors import UserError
from finops.lib.query_page import QueryPage
from ingestion.charts import marked_usage, usage_days, usage_table
from ingestion.choices import dimension_choices, field_value
from ingestion.queries import find_metric, first_metric, metrics_of, query_usage, suggest_values
from ingestion.schemas import UsageAnswer
from ingestion.usage_csv import usage_csv
from ingestion.usage_query import CUSTOMER, UsageQuery

SUGGESTIONS = 20
CUSTOM = "custom"
"""Value of the form's field `period` while the dates are entered."""


class UsagePage(QueryPage[AccountRequest, UsageQuery, UsageAnswer]):
    """The query page of usage."""

    template = "ingestion/usage.html"
    result_template = "ingestion/_usage_result.html"
    first_query = UsageQuery(granularity="day", group_by=[CUSTOMER])
    default_period = None

    def __init__(self, request: AccountRequest) -> None:
        super().__init__(request)
        self.metrics = metrics_of(request.account)

    def url_params(self) -> dict[str, list[str]]:
        params = super().url_params().items()
        return {
            name: [value for value in values if name != "period" or value != CUSTOM]
            for name, values in params
        }

    def complete(self, query: UsageQuery) -> UsageQuery:
        """Return the query with its metric, else the default metric, because the form must show which metric is used."""
        return structs.replace(query, usage_metric=query.usage_metric or first_metric(self.metrics))

    def answer(self, query: UsageQuery) -> UsageAnswer:
        return query_usage(self.request.account, query, all_groups=self.as_csv, metrics=self.metrics)

    def result(self, query: UsageQuery, answer: UsageAnswer) -> dict[str, Any]:
        (table,), markers = marked_usage([usage_table(answer)], usage_days(answer))
        return {"table": table, "markers": markers}

    def choices(self, query: UsageQuery) -> dict[str, Any]:
        account = self.request.account
        filters = [
            {"dimension": field_value(item.dimension), "values": item.values} for item in query.filters
        ]
        if query.customers:
            filters.insert(0, {"dimension": CUSTOMER, "values": query.customers})
        dimensions = dimension_choices(account, [query.group, *(str(item["dimension"]) for item in filters)])
        return {
            "values_url": reverse("usage_values", args=[account.slug]),
            "metrics": [(metric.name, str(metric)) for metric in self.metrics],
            "chosen_metric": self._chosen_metric(query),
            "groups": dimensions.choices,
            "typed": not dimensions.whole,
            "filters": filters,
            "periods": PERIODS,
            "granularities": GRANULARITIES,
            "tops": TOPS,
        }

    def _chosen_metric(self, query: UsageQuery) -> str:
        try:
            return find_metric(self.metrics, query.usage_metric).name
        except UserError:
            return ""

    def csv(self, query: UsageQuery) -> HttpResponseBase:
        return usage_csv(self.answer(query)).response()


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    page = UsagePage(request)
    return page.response() if page.metrics else render(request, "ingestion/usage_empty.html", {})


@account_page()
@require_safe
def values(request: AccountRequest) -> HttpResponse:
    """Return the suggestions of a filter's text field: customers or a dimension's values that contain the text."""
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

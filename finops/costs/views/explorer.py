"""Cost explorer: the query of the tool `querySpend`, its state in the URL, its answer as chart, table and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.page_access import AccountRequest, account_page
from finops.costs import explorer_steps
from finops.costs.answers import SpendAnswer, drop_other_currencies
from finops.costs.charts import marked_tables
from finops.costs.models import SavedView
from finops.costs.queries import list_dimension_values, query_spend
from finops.costs.queries.resource import describe_resource
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import filter_labels
from finops.costs.resource_panels import ResourceQuestion, panels_of
from finops.costs.spend_csv import spend_csv
from finops.costs.spend_forecasts import Expected, ForecastQuestion, expected_cost, forecasts_of
from finops.costs.spend_query import SpendQuery
from finops.costs.views.choices import MEASURES, ORDERS
from finops.costs.views.explorer_charts import explorer_tables, first_incomplete
from finops.costs.views.explorer_toolbar import toolbar
from finops.costs.views.query_page import CostQueryPage
from finops.exchange_rates.pages import display_of_page
from finops.lake.engine.conversion import display_currency
from finops.lib.errors import UserError
from finops.lib.formats import numbers
from finops.lib.periods import DateRange

SUGGESTIONS = 20


class ExplorerPage(CostQueryPage[SpendQuery, SpendAnswer]):
    """The question of the cost explorer."""

    template = "costs/explorer.html"
    result_template = "costs/_explorer.html"
    first_query = SpendQuery(
        period="last_30_days", granularity="day", group_by=["service"], compare_to="previous_period"
    )
    own_choices = {"orders": ORDERS, "measures": MEASURES}

    labels: Mapping[str, str] = {}
    """Labels of values that are ids, as far as the answer has them."""

    @cached_property
    def sources(self) -> Sources:
        return load_sources(self.request.account)

    def answer(self, query: SpendQuery) -> SpendAnswer:
        account = self.request.account
        answer = query_spend(account, query, sources=self.sources, with_notes=not self.as_csv)
        return answer if self.as_csv else drop_other_currencies(answer, display_currency())

    def result(self, query: SpendQuery, answer: SpendAnswer) -> dict[str, Any]:
        self.labels = filter_labels(self.request.account, query, self.sources)
        coverage = self.sources.coverage
        tables = explorer_tables(query, answer, coverage, self._forecast(query, answer))
        tables, markers = marked_tables(tables, answer, query.filters)
        shown = {"tables": tables, "markers": markers, "all_groups": _all_groups(query)}
        return shown | (self._resource(query) if answer.totals else self._way_out(query, answer))

    def _way_out(self, query: SpendQuery, answer: SpendAnswer) -> dict[str, Any]:
        """Return links for days or filters without cost: to days with cost, or to the question without filters."""
        coverage = self.sources.coverage
        if coverage.first_day is None or coverage.last_day is None:
            return {}
        days = DateRange(answer.period.start_date, answer.period.end_date)
        other = explorer_steps.with_data(query, days, DateRange(coverage.first_day, coverage.last_day))
        if other is not None:
            return {"data_days": other, "data_url": explorer_steps.url_of(other)}
        return {"no_filters_url": explorer_steps.url_of(structs.replace(query, filters=[]))}

    def _forecast(self, query: SpendQuery, answer: SpendAnswer) -> Expected:
        """Return the forecast if a bucket is incomplete. One lake query, else none."""
        is_cost = query.measure == "cost" and query.spread == "none" and query.granularity != "none"
        if not is_cost or first_incomplete(answer, self.sources.coverage) is None:
            return {}
        request = ForecastQuestion(self.request.account, query, answer.view, self.sources)
        return expected_cost(forecasts_of(request))

    def _resource(self, query: SpendQuery) -> dict[str, Any]:
        """Return the panel of the resource if the filters select one. Raises UserError."""
        name = explorer_steps.pinned_values(query).get("resource")
        if name is None:
            return {}
        question, facts = describe_resource(self.request.account, query, self.sources)
        title = dict(facts.facts).get("Name", name)
        self.labels = {**self.labels, name: title}
        parts = panels_of(ResourceQuestion(self.request.account, self.sources, question))
        return {"resource": facts, "resource_name": title, "resource_parts": parts}

    def context(self, query: SpendQuery, answer: SpendAnswer | None) -> dict[str, Any]:
        """Return the choices and the toolbar, which change with every question."""
        choices = super().choices(query)
        return {**choices, "toolbar": toolbar(query, choices["dimensions"], self.labels)}

    def choices(self, query: SpendQuery) -> dict[str, Any]:
        return {}

    def filter_row(self, query: SpendQuery, params: Mapping[str, list[str]]) -> dict[str, Any]:
        return {}

    def csv(self, query: SpendQuery) -> HttpResponseBase:
        answer: SpendAnswer = self.all_rows(query)
        display = display_of_page(self.request)
        return spend_csv(answer, display, ask=lambda: self.all_rows(query)).response()


class SavedViewPage(ExplorerPage):
    """The cost explorer with a saved view's question, until the URL has another question."""

    def __init__(self, request: AccountRequest, view: SavedView) -> None:
        super().__init__(request)
        self.view, self.first_query = view, view.query

    def context(self, query: SpendQuery, answer: SpendAnswer | None) -> dict[str, Any]:
        return {**super().context(query, answer), "view": self.view, "is_changed": query != self.view.query}


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return ExplorerPage(request).response()


@account_page()
@require_safe
def values(request: AccountRequest) -> HttpResponse:
    """Return the suggestions of a filter's text field: values that contain the text, by cost."""
    dimension = request.GET.get("dimension", "")
    if not dimension:
        return JsonResponse({"values": []})
    try:
        answer = list_dimension_values(
            request.account, dimension, search=request.GET.get("q", ""), limit=SUGGESTIONS
        )
    except UserError as problem:
        return JsonResponse({"values": [], "error": problem.message}, status=400)
    rows = [
        {
            "value": each.value,
            "label": each.label,
            "amounts": _hint("", each.amounts),
            "hint": _hint(each.label, each.amounts),
        }
        for each in answer.values
    ]
    return JsonResponse({"values": rows, "more": answer.total_values > len(rows)})


def _all_groups(query: SpendQuery) -> str:
    more = explorer_steps.with_all_groups(query)
    return explorer_steps.url_of(more) if more else ""


def _hint(label: str, costs: list[Any]) -> str:
    spent = [numbers.money(cost.amount, cost.currency) for cost in costs[:2]]
    return " · ".join([part for part in (label, *spent) if part])

"""Unit economics: the query of the tool `queryUnitCost`, its state in the URL, its answer as charts, tables and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.queries.splits import has_splits_on
from finops.costs.views.choices import default_basis
from finops.costs.views.query_page import COST_OPTIONS, CostQueryPage
from finops.exchange_rates.pages import display_of_page
from finops.lib.params import id_of
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
from finops.unitcosts.charts import trends, with_trend_markers
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries import customer_key, query_unit_cost
from finops.unitcosts.queries.cards import per_unit
from finops.unitcosts.queries.customer_suggestions import customer_names, suggestions_by_value
from finops.unitcosts.queries.unit_metrics import find_unit_metric
from finops.unitcosts.saved_question import is_changed, merge_question
from finops.unitcosts.unit_cost_csv import unit_cost_csv
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.choices import dimension_choices as usage_dimension_choices
from ingestion.choices import field_value
from ingestion.queries import first_metric, metrics_of

IMPLIED: Final = (("per", "1"), ("splits", "before"))
SCALES = (1, 100, 1_000, 10_000, 1_000_000)


class EconomicsPage(CostQueryPage[UnitCostQuery, UnitCostAnswer]):
    """The question of the page Unit economics. `saved` is the unit metric that it started from."""

    template = "unitcosts/economics.html"
    result_template = "unitcosts/_economics_result.html"
    options = ("granularity", "per", "compare_to", "order_by", "splits", "u0", *COST_OPTIONS)
    listed = "Customers listed"
    filters_title, add_filter = "Cost filters", "Add cost filter"
    own_choices = {
        "modes": [("total", "Total"), ("per_customer", "By customer")],
        "orders": [("cost", "Largest cost"), ("unit_cost", "Highest unit cost"), ("margin", "Lowest margin")],
        "tops": [(count, f"Top {count}") for count in (10, 20, 50, 100)],
    }

    def __init__(self, request: AccountRequest) -> None:
        """Set the default question: by customer if there is a key, and with the allocation of splits on it."""
        super().__init__(request)
        self.saved: UnitMetric | None = None
        self.metrics, self.key = metrics_of(request.account), customer_key(request.account)
        self.first_query = UnitCostQuery(
            usage_metric=first_metric(self.metrics),
            mode="per_customer" if self.key else "total",
            period="last_30_days",
            granularity="day",
            compare_to="previous_period",
            splits="after" if self.key and has_splits_on(request.account, self.key) else None,
        )

    def complete(self, query: UnitCostQuery) -> UnitCostQuery:
        """Complete the question from its unit metric, for the form; from the first usage metric if it has none."""
        if query.unit_metric:
            metric = find_unit_metric(self.request.account, query.unit_metric)
            query, self.saved = merge_question(metric, query)[0], metric
            return query
        saved = id_of(self.request.GET.get("saved", ""))
        self.saved = UnitMetric.objects.filter(pk=saved).first() if saved else None
        return structs.replace(query, usage_metric=query.usage_metric or self.first_query.usage_metric)

    def answer(self, query: UnitCostQuery) -> UnitCostAnswer | None:
        if not query.usage_metric and not self.as_csv:
            return None
        return query_unit_cost(self.request.account, query, metrics=self.metrics)

    def result(self, query: UnitCostQuery, answer: UnitCostAnswer) -> dict[str, Any]:
        unit = answer.unit or answer.usage_metric
        unit_trends, markers = with_trend_markers(trends(answer, query.granularity, unit), answer, query)
        return {
            "unit": unit,
            "per_unit": per_unit(query.units, answer.unit, answer.usage_metric),
            "trends": unit_trends,
            "markers": markers,
            **_rows_context(self.request, answer),
        }

    def context(self, query: UnitCostQuery, answer: UnitCostAnswer | None) -> dict[str, Any]:
        saved = self.saved
        return {
            "metrics": self.metrics,
            "key": self.key,
            "params": query.to_params() | ({"saved": [str(saved.pk)]} if saved else {}),
            "saved": saved,
            "saved_changed": saved is not None and is_changed(saved, query),
            "default_basis": default_basis(query.basis, answer.view if answer else None),
        }

    def changed_options(self, params: Mapping[str, list[str]]) -> int | None:
        """Return the number of changed options, as on other pages. 1 unit and cost before splits are defaults, with
        and without their URL parameters."""
        return super().changed_options(
            {name: values for name, values in params.items() if (name, *values) not in IMPLIED}
        )

    def choices(self, query: UnitCostQuery) -> dict[str, Any]:
        account = self.request.account
        metrics = {metric.name: str(metric) for metric in self.metrics}
        if query.usage_metric:
            metrics.setdefault(query.usage_metric, query.usage_metric)
        filters = [
            {"dimension": field_value(item.dimension), "values": item.values} for item in query.usage_filters
        ]
        dimensions = usage_dimension_choices(account, [str(item["dimension"]) for item in filters])
        return super().choices(query) | {
            "metric_choices": list(metrics.items()),
            "usage_values_url": reverse("usage_values", args=[account.slug]),
            "usage_filters": filters,
            "usage_dimensions": dimensions.choices,
            "typed": not dimensions.whole,
            "scales": [(scale, f"{scale:,}") for scale in sorted({*SCALES, query.units})],
        }

    def csv(self, query: UnitCostQuery) -> HttpResponseBase:
        answer: UnitCostAnswer = self.all_rows(query)
        display = display_of_page(self.request)
        return unit_cost_csv(
            answer, display, ask=lambda: self.all_rows(query), by_customer=query.mode == "per_customer"
        ).response()


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return EconomicsPage(request).response()


def _rows_context(request: AccountRequest, answer: UnitCostAnswer) -> dict[str, Any]:
    """Return the rows by the action they need and, for users who may map values, the most similar customers."""
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

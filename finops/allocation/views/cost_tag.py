"""The page of a cost tag: cost over time by value and by payer, rules in words, and uses."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.page_access import AccountRequest, account_page
from finops.allocation.cost_tags.resolution import PREFIX
from finops.allocation.cost_tags.schemas import CostTagQuery
from finops.allocation.cost_tags.text import rule_words
from finops.allocation.cost_tags.uses import uses_of
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tag_spend import query_cost_tag
from finops.allocation.services.cost_tags import draft_of
from finops.costs.answers import SpendAnswer
from finops.costs.charts import marked_tables, series_tables
from finops.costs.dimensions import UNTAGGED
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.costs.templatetags.costs import as_csv_query
from finops.costs.views.query_page import COST_OPTIONS, CostQueryPage
from finops.lib.money import exact_difference
from finops.lib.params import as_arguments
from finops.lib.sentences import join_with_and

BY = [("account", "Account"), ("team", "Team"), ("product", "Product"), ("service", "Service")]


class CostTagPage(CostQueryPage[SpendQuery, SpendAnswer]):
    """The question of a cost tag's page. The CSV is that of the cost explorer."""

    template = "allocation/cost_tag.html"
    result_template = "allocation/_cost_tag_result.html"
    options = ("splits", *COST_OPTIONS)

    def __init__(self, request: AccountRequest, cost_tag: CostTag) -> None:
        super().__init__(request)
        self.cost_tag, self.dimension = cost_tag, f"{PREFIX}{cost_tag.key}"
        self.explorer_url = reverse("cost_explorer", args=[request.account.slug])
        self.first_query = SpendQuery(
            period="last_30_days",
            granularity="day",
            group_by=[self.dimension],
            compare_to="previous_period",
        )

    def complete(self, query: SpendQuery) -> SpendQuery:
        """Group by the values of the cost tag, whatever else the URL groups by."""
        other_groups = [name for name in query.group_by if name != self.dimension]
        return structs.replace(query, group_by=[self.dimension, *other_groups[:1]])

    def answer(self, query: SpendQuery) -> SpendAnswer:
        return query_spend(self.request.account, query)

    def result(self, query: SpendQuery, answer: SpendAnswer) -> dict[str, Any]:
        tables, markers = marked_tables(series_tables(answer), answer, query.filters)
        shown = {"tables": tables, "markers": markers, **_for_assistants(self.cost_tag, query)}
        return shown | _before_and_after(self.request, self.cost_tag, query)

    def context(self, query: SpendQuery, answer: SpendAnswer | None) -> dict[str, Any]:
        return {"cost_tag": self.cost_tag, "explorer_url": self.explorer_url}

    def choices(self, query: SpendQuery) -> dict[str, Any]:
        draft, uses = draft_of(self.cost_tag), uses_of(self.request.account, self.dimension)
        return super().choices(query) | {
            "rules": [(rule.name, rule_words(rule)) for rule in draft.rules],
            "rest_value": draft.default_value or UNTAGGED,
            "uses": uses,
            "used_by": join_with_and(uses),
            "by_choices": BY,
            "by": query.group_by[1] if len(query.group_by) > 1 else "",
        }

    def csv(self, query: SpendQuery) -> HttpResponseBase:
        return redirect(f"{self.explorer_url}{as_csv_query(query.to_params())}")


@account_page()
@require_safe
def index(request: AccountRequest, cost_tag_id: int) -> HttpResponseBase:
    return CostTagPage(request, get_object_or_404(CostTag.objects.all(), pk=cost_tag_id)).response()


def _cost_tag_query(cost_tag: CostTag, query: SpendQuery) -> CostTagQuery:
    """Return the question about the cost tag alone, with the same days and basis."""
    return CostTagQuery(
        cost_tag=cost_tag.key,
        start_date=query.start_date,
        end_date=query.end_date,
        period=query.period,
        basis=query.basis,
        limit=query.limit,
    )


def _for_assistants(cost_tag: CostTag, query: SpendQuery) -> dict[str, Any]:
    """Return the tool for assistants: `queryCostTag`, or `querySpend` when the page filters."""
    if query.filters or query.charge_categories:
        return {"mcp_arguments": as_arguments(query)}
    tag_query = structs.replace(
        _cost_tag_query(cost_tag, query), group_by=query.group_by[1:2], splits=query.splits
    )
    return {"assistant_tool": "queryCostTag", "mcp_arguments": as_arguments(tag_query)}


def _before_and_after(request: AccountRequest, cost_tag: CostTag, query: SpendQuery) -> dict[str, Any]:
    """Return each value before and after splits; nothing when the page shows cost before splits or filters."""
    if query.splits == "before" or query.filters or query.charge_categories:
        return {}
    answer = query_cost_tag(request.account, _cost_tag_query(cost_tag, query))
    if not answer.applied_splits:
        return {}
    changes = [(value, exact_difference(value.after_splits, value.amount)) for value in answer.values]
    return {"beside": answer, "beside_values": changes}

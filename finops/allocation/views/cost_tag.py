"""A cost tag: its cost over time by value and by who pays, its rules in words, what uses it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.allocation.cost_tags.cost_tag_query import CostTagQuery
from finops.allocation.cost_tags.resolution import PREFIX
from finops.allocation.cost_tags.uses import uses_of
from finops.allocation.cost_tags.words import rule_words
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tag_spend import query_cost_tag
from finops.allocation.services.cost_tags import draft_of
from finops.costs.charts import series_tables
from finops.costs.dimensions import UNTAGGED
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery, query_from_params
from finops.costs.templatetags.costs import as_csv_query
from finops.costs.views.explorer import question_choices
from finops.lib.errors import UserError
from finops.lib.listing import wants_csv
from finops.lib.money import exact_difference
from finops.lib.params import as_arguments
from finops.lib.query_page import render_query_page
from finops.lib.sentences import join_with_and

BY = [("account", "Account"), ("team", "Team"), ("product", "Product"), ("service", "Service")]


@account_page()
@require_safe
def index(request: AccountRequest, cost_tag_id: int) -> HttpResponseBase:
    """The whole page, or the result alone for htmx. The CSV is the cost explorer's."""
    cost_tag = get_object_or_404(CostTag.objects.all(), pk=cost_tag_id)
    dimension = f"{PREFIX}{cost_tag.key}"
    explorer = reverse("cost_explorer", args=[request.account.slug])
    query, status = first_question(dimension), 200
    context: dict[str, Any] = {"cost_tag": cost_tag, "explorer_url": explorer}
    try:
        query = _query_from_params(dict(request.GET.lists()), dimension)
        if wants_csv(request):
            return redirect(f"{explorer}{as_csv_query(query.to_params())}")
        answer = query_spend(request.account, query)
        context |= {"answer": answer, "tables": series_tables(answer)}
        context |= _for_assistants(cost_tag, query) | _before_and_after(request, cost_tag, query)
    except UserError as problem:
        status, context["error"] = 400, problem.message
    return render_query_page(
        request,
        page="allocation/cost_tag.html",
        result="allocation/_cost_tag_result.html",
        context=context | {"query": query, "params": query.to_params()},
        choices=lambda: _rules_context(request, cost_tag, query) | question_choices(request, query),
        status=status,
    )


def first_question(dimension: str) -> SpendQuery:
    return SpendQuery(
        period="last_30_days", granularity="day", group_by=[dimension], compare_to="previous_period"
    )


def _query_from_params(params: dict[str, list[str]], dimension: str) -> SpendQuery:
    """By the values of the cost tag, whatever else the URL groups by."""
    query = query_from_params(params, first_question(dimension))
    others = [name for name in query.group_by if name != dimension]
    return structs.replace(query, group_by=[dimension, *others[:1]])


def _cost_tag_query(cost_tag: CostTag, query: SpendQuery) -> CostTagQuery:
    """The same days and basis as a question about the cost tag alone."""
    return CostTagQuery(
        cost_tag=cost_tag.key,
        start_date=query.start_date,
        end_date=query.end_date,
        period=query.period,
        basis=query.basis,
        top=query.top,
    )


def _for_assistants(cost_tag: CostTag, query: SpendQuery) -> dict[str, Any]:
    """The tool of cost tags, but where the page asks what only `querySpend` takes."""
    if query.filters or query.charge_categories:
        return {"mcp_arguments": as_arguments(query)}
    by = next((name for name in query.group_by[1:]), "")
    tag_query = structs.replace(_cost_tag_query(cost_tag, query), by=by, splits=query.splits)
    return {"assistant_tool": "queryCostTag", "mcp_arguments": as_arguments(tag_query)}


def _before_and_after(request: AccountRequest, cost_tag: CostTag, query: SpendQuery) -> dict[str, Any]:
    """Each value before and after shared costs, where after is asked for the whole of the cost."""
    if query.splits == "before" or query.filters or query.charge_categories:
        return {}
    answer = query_cost_tag(request.account, _cost_tag_query(cost_tag, query))
    if not answer.applied_splits:
        return {}
    changes = [(value, exact_difference(value.after_splits, value.amount)) for value in answer.values]
    return {"beside": answer, "beside_values": changes}


def _rules_context(request: AccountRequest, cost_tag: CostTag, query: SpendQuery) -> dict[str, Any]:
    draft = draft_of(cost_tag)
    uses = uses_of(request.account, f"{PREFIX}{cost_tag.key}")
    return {
        "rules": [(rule.name, rule_words(rule)) for rule in draft.rules],
        "rest_value": draft.default_value or UNTAGGED,
        "uses": uses,
        "used_by": join_with_and(uses),
        "by_choices": BY,
        "by": query.group_by[1] if len(query.group_by) > 1 else "",
    }

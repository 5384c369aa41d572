"""What changed: the query of the tool `explainSpendChange`, its state in the URL, its answer as waterfall, table, CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.costs.dimensions import registry
from finops.costs.queries.cost_view import ALL, CHARGE_CATEGORIES
from finops.costs.spend_query import MAX_GROUPS, query_from_params
from finops.costs.views.choices import BASES, COMPARISONS, OPS, PERIODS, dimension_choices
from finops.insights.charts import move_name, waterfalls
from finops.insights.spend_change.answers import Effects, SpendChangeAnswer
from finops.insights.spend_change.effects import EFFECTS
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.spend_change_query import DEFAULT_GROUP, DEFAULT_TOP, SpendChangeQuery
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from finops.lib.listing import csv_cell, csv_response, wants_csv
from finops.lib.params import as_arguments
from finops.lib.query_page import render_query_page

ALL_MOVES = 1_000_000
TOPS = [(count, f"Top {count}") for count in (5, 10, 20, 30)]
FIRST_QUESTION = SpendChangeQuery(period="last_month", group_by=[DEFAULT_GROUP])


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """The whole page, its result alone for htmx, or every move as CSV. A bad query: 400 with what to mend."""
    query, status = FIRST_QUESTION, 200
    context: dict[str, Any] = {}
    try:
        query = query_from_params(dict(request.GET.lists()), FIRST_QUESTION)
        if wants_csv(request):
            return _csv(explain_spend_change(request.account, structs.replace(query, top=ALL_MOVES)))
        answer = explain_spend_change(request.account, query)
        context |= {
            "answer": answer,
            "waterfalls": waterfalls(answer),
            "mcp_arguments": as_arguments(query),
        }
    except UserError as problem:
        status, context["error"] = 400, problem.message
    return render_query_page(
        request,
        page="insights/spend_change.html",
        result="insights/_spend_change_result.html",
        context={**context, "query": query, "params": query.to_params()},
        choices=lambda: _choices(request, query),
        status=status,
    )


def _choices(request: AccountRequest, query: SpendChangeQuery) -> dict[str, Any]:
    keys = lake_queries.tag_keys(request.account)
    grouped = query.group_by or [DEFAULT_GROUP]
    used = [*grouped, *(item.dimension for item in query.filters)]
    return {
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "dimensions": dimension_choices(registry.kinds(), keys, used),
        "group_fields": list(enumerate([*grouped, *[""] * MAX_GROUPS][:MAX_GROUPS], start=1)),
        "periods": PERIODS,
        "bases": BASES,
        "comparisons": [choice for choice in COMPARISONS if choice[0] != "none"],
        "categories": CHARGE_CATEGORIES,
        "ticked": CHARGE_CATEGORIES if ALL in query.charge_categories else query.charge_categories,
        "more": bool(query.basis or query.charge_categories or query.top != DEFAULT_TOP),
        "ops": OPS,
        "tops": TOPS,
    }


def _csv(answer: SpendChangeAnswer) -> HttpResponseBase:
    """Every move, exact amounts."""
    days = answer.days
    name = f"spend-change-{days.start_date}-{days.end_date}" if days else "spend-change"
    header = [
        *answer.group_by,
        "name",
        "kind",
        "currency",
        "before",
        "after",
        "change",
        "change ratio",
        *EFFECTS,
    ]
    return csv_response(name, header, _lines(answer))


def _lines(answer: SpendChangeAnswer) -> Iterator[list[str]]:
    for move in answer.moves:
        figures = [move.previous_amount, move.current_amount, move.change, move.ratio]
        cells = [*move.group.values(), move_name(move), move.kind, move.currency, *figures]
        yield [csv_cell(cell) for cell in [*cells, *_effect_cells(move.effects)]]


def _effect_cells(effects: Effects | None) -> list[Any]:
    return [getattr(effects, name, None) for name in EFFECTS]

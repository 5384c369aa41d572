"""What changed: the query of the tool `explainSpendChange`, its state in the URL, its answer as waterfall, table, CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.costs.views.choices import COMPARISONS
from finops.costs.views.query_page import CostQueryPage
from finops.exchange_rates.csv_columns import NONE, CsvRow, OriginalAmounts
from finops.insights.charts import move_name, waterfalls
from finops.insights.spend_change.effects import EFFECTS
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import DEFAULT_GROUP, Move, SpendChangeAnswer, SpendChangeQuery
from finops.lib.listing import csv_response

FIGURES: Final = ("before", "after", "change")


class SpendChangePage(CostQueryPage[SpendChangeQuery, SpendChangeAnswer]):
    """The question of the page What changed."""

    template = "insights/spend_change.html"
    result_template = "insights/_spend_change_result.html"
    first_query = SpendChangeQuery(period="last_month", group_by=[DEFAULT_GROUP])
    own_choices = {
        "comparisons": [choice for choice in COMPARISONS if choice[0] != "none"],
        "tops": [(count, f"Top {count}") for count in (5, 10, 20, 30)],
    }

    def groups(self, query: SpendChangeQuery) -> list[str]:
        return query.group_by or [DEFAULT_GROUP]

    def answer(self, query: SpendChangeQuery) -> SpendChangeAnswer:
        return explain_spend_change(self.request.account, query)

    def result(self, query: SpendChangeQuery, answer: SpendChangeAnswer) -> dict[str, Any]:
        return {"waterfalls": waterfalls(answer)}

    def csv(self, query: SpendChangeQuery) -> HttpResponseBase:
        answer: SpendChangeAnswer = self.all_rows(query)
        return _csv(answer, self._original_amounts(query, answer))

    def _original_amounts(self, query: SpendChangeQuery, answer: SpendChangeAnswer) -> OriginalAmounts:
        days = answer.days
        if days is None:
            return NONE
        return self.original_amounts(
            query, answer, FIGURES, _amounts, (min(days.previous_start_date, days.start_date), days.end_date)
        )


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return SpendChangePage(request).response()


def _csv(answer: SpendChangeAnswer, original: OriginalAmounts) -> HttpResponseBase:
    """Every move, exact amounts."""
    days = answer.days
    name = f"spend-change-{days.start_date}-{days.end_date}" if days else "spend-change"
    header = [
        *answer.group_by,
        "name",
        "kind",
        "currency",
        *FIGURES,
        "change ratio",
        *EFFECTS,
        *original.header,
    ]
    return csv_response(name, header, _csv_rows(answer, original))


def _csv_rows(answer: SpendChangeAnswer, original: OriginalAmounts) -> Iterator[list[Any]]:
    for move in answer.moves:
        figures = [move.previous_amount, move.current_amount, move.change, move.ratio]
        effects = [getattr(move.effects, name, None) for name in EFFECTS]
        beside = original.cells(_row_key(move), move.currency)
        yield [*move.group.values(), move_name(move), move.kind, move.currency, *figures, *effects, *beside]


def _row_key(move: Move) -> tuple[Any, ...]:
    return (*move.group.values(), bool(move.other_groups))


def _amounts(answer: SpendChangeAnswer) -> Iterator[CsvRow]:
    for move in answer.moves:
        yield _row_key(move), move.currency, [move.previous_amount, move.current_amount, move.change]

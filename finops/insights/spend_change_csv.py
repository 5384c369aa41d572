"""The CSV of a change of spend, of the page What changed and of the tool explainSpendChange."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from finops.exchange_rates.csv_columns import NONE, CsvRow, OriginalAmounts, original_amounts
from finops.exchange_rates.display import Display
from finops.insights.charts import move_name
from finops.insights.spend_change.effects import EFFECTS
from finops.insights.spend_change.schemas import Move, SpendChangeAnswer
from finops.lib.listing import CsvTable

FIGURES: Final = ("before", "after", "change")


def spend_change_csv(
    answer: SpendChangeAnswer, display: Display | None, *, ask: Callable[[], SpendChangeAnswer]
) -> CsvTable:
    """Return the CSV of an answer with all its moves, exact amounts. Where it is converted for `display`, with the original
    amounts, for which `ask` answers the same query again."""
    days = answer.days
    original = _original_amounts(answer, display, ask)
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
    name = f"spend-change-{days.start_date}-{days.end_date}" if days else "spend-change"
    rows = _rows(answer, original)
    return CsvTable(name, header, rows, note=answer.summary, note_after=EFFECTS[-1])


def _original_amounts(
    answer: SpendChangeAnswer, display: Display | None, ask: Callable[[], SpendChangeAnswer]
) -> OriginalAmounts:
    days = answer.days
    if days is None:
        return NONE
    covered = (min(days.previous_start_date, days.start_date), days.end_date)
    return original_amounts(display, covered, FIGURES, answer, ask=ask, rows=_amounts)


def _rows(answer: SpendChangeAnswer, original: OriginalAmounts) -> Iterator[list[Any]]:
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

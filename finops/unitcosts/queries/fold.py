"""Make an answer about unit cost smaller without losing a cent: small rows are summed, then trends left out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from finops.lib import answers
from finops.lib.money import exact_sum
from finops.lib.sentences import join_with_and
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
from finops.unitcosts.queries.division import divide_cost, per_million
from finops.unitcosts.unit_cost_query import MAX_TOP

Fits = Callable[[UnitCostAnswer], bool]

_LISTS = ((MATCHED, REST), (NO_USAGE,), (NO_COST,), (UNKNOWN_CUSTOMER,), (NO_CUSTOMER,))

ENOUGH_ROWS = 10
"""The number of rows that are kept in preference to trends."""

ROWS_PLAIN = "Trends of rows are omitted. Use a coarser granularity or fewer customers."
ALL_PLAIN = "Trends are omitted. Use fewer days or a coarser granularity."


def fold_rows(rows: Sequence[UnitCostRow], keep: int, per: int = 1) -> list[UnitCostRow]:
    """Keep the first `keep` rows of each status and currency; the others are summed in one row, which has the status
    `rest` if they are matched."""
    visible_rows = []
    for currency in dict.fromkeys(row.currency for row in rows):
        for statuses in _LISTS:
            matching_rows = [row for row in rows if row.currency == currency and row.status in statuses]
            visible_rows += (
                matching_rows
                if len(matching_rows) <= keep + 1 and keep
                else [*matching_rows[:keep], *_sum_of_others(matching_rows[keep:], per)]
            )
    return visible_rows


def _sum_of_others(rows: Sequence[UnitCostRow], per: int) -> list[UnitCostRow]:
    """Return the sum of these rows; usage by customer can be added under every aggregation."""
    if not rows:
        return []
    status = REST if rows[0].status in (MATCHED, REST) else rows[0].status
    cost = exact_sum(row.cost for row in rows)
    usages = [row.usage for row in rows if row.usage is not None]
    usage = exact_sum(usages) if usages else None
    unit_cost, reason = (
        divide_cost(cost, usage, per=per) if status == REST and usages else (None, rows[0].reason)
    )
    return [
        UnitCostRow(
            customer_id=None,
            status=status,
            direct_cost=exact_sum(row.direct_cost for row in rows),
            allocated_cost=exact_sum(row.allocated_cost for row in rows),
            cost=cost,
            currency=rows[0].currency,
            usage=usage,
            unit_cost=unit_cost,
            reason=reason,
            unit_cost_per_million=per_million(unit_cost, per=per),
            other_rows=sum(row.other_rows or 1 for row in rows),
        )
    ]


def truncation_note(rows: Sequence[UnitCostRow], limit: int) -> str:
    """Return a note on the summed rows and how to narrow the question; empty if every row is listed."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + row.other_rows
    parts = [f"{counts[status]} {noun}" for status, noun in _SUMMED.items() if counts.get(status)]
    if not parts:
        return ""
    more = f"raise limit (now {limit}, maximum {MAX_TOP})" if limit < MAX_TOP else "filter the cost"
    return f"{join_with_and(parts)} are in one row per status: {more}, or list customers."


_SUMMED = {
    REST: "other customers",
    NO_USAGE: "customers without usage",
    NO_COST: "customers without cost",
    UNKNOWN_CUSTOMER: "values of unknown customers",
}


def fit_to_size(answer: UnitCostAnswer, fits: Fits, limit: int) -> UnitCostAnswer:
    """Return the answer with as many rows as fit; if necessary without the trends of rows, then without the trends of
    totals."""
    if fits(answer):
        return answer
    plain = replace(answer, rows=[replace(row, series={}) for row in answer.rows])
    bare = replace(plain, totals=[replace(total, buckets=[]) for total in plain.totals])
    for stage, least, note in ((answer, ENOUGH_ROWS, ""), (plain, 1, ROWS_PLAIN), (bare, 1, ALL_PLAIN)):
        make = partial(_fold_to, stage, limit=limit, note=note)
        smaller = answers.fit_to_size(make, fits, max(least, len(stage.rows)), least=least)
        if smaller is not None:
            return smaller
    return _fold_to(bare, 0, limit=limit, note=ALL_PLAIN)


def _fold_to(answer: UnitCostAnswer, keep: int, *, limit: int, note: str) -> UnitCostAnswer:
    rows = fold_rows(answer.rows, keep, answer.per)
    notes = [truncation_note(rows, limit), note, "A tool's answer is at most 25 KB."]
    return replace(answer, rows=rows, truncated=" ".join(part for part in notes if part))

"""Making an answer about unit cost smaller without losing a cent: small rows are summed, then trends left out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from finops.lib.money import added
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
from finops.unitcosts.queries.division import divided, per_million
from finops.unitcosts.unit_cost_query import MAX_TOP

Fits = Callable[[UnitCostAnswer], bool]

_LISTS = ((MATCHED, NO_USAGE, NO_COST, REST), (UNKNOWN_CUSTOMER,), (NO_CUSTOMER,))

ENOUGH_ROWS = 10
"""Rows that are worth more than their trends."""

ROWS_PLAIN = "The rows' trends are left out: ask for a coarser granularity or fewer customers."
ALL_PLAIN = "Trends are left out: ask for fewer days or a coarser granularity."
NO_REST_USAGE = "None of these customers has usage of the metric in these days."


def folded(rows: Sequence[UnitCostRow], keep: int) -> list[UnitCostRow]:
    """The first `keep` customers and the first `keep` unmatched values of each currency; the rest of each summed."""
    found = []
    for currency in dict.fromkeys(row.currency for row in rows):
        for statuses in _LISTS:
            mine = [row for row in rows if row.currency == currency and row.status in statuses]
            found += mine if len(mine) <= keep + 1 and keep else [*mine[:keep], *_rest(mine[keep:])]
    return found


def _rest(rows: Sequence[UnitCostRow]) -> list[UnitCostRow]:
    """One row for these; usage by customer adds up under every aggregation."""
    if not rows:
        return []
    is_customers = rows[0].customer_id is not None or rows[0].status == REST
    cost = added(row.cost for row in rows)
    used = [row.usage for row in rows if row.usage is not None]
    usage = added(used) if used else None
    unit_cost, reason = divided(cost, usage, unused=NO_REST_USAGE if is_customers else rows[0].reason)
    return [
        UnitCostRow(
            customer_id=None,
            status=REST if is_customers else rows[0].status,
            direct_cost=added(row.direct_cost for row in rows),
            allocated_cost=added(row.allocated_cost for row in rows),
            cost=cost,
            currency=rows[0].currency,
            usage=usage,
            unit_cost=unit_cost,
            reason=reason,
            unit_cost_per_million=per_million(unit_cost),
            other_rows=sum(row.other_rows or 1 for row in rows),
        )
    ]


def truncated_of(rows: Sequence[UnitCostRow], top: int) -> str:
    """Says what is summed and how to narrow; empty when every row is listed."""
    customers = sum(row.other_rows for row in rows if row.status == REST)
    values = sum(row.other_rows for row in rows if row.status != REST)
    parts = []
    if customers:
        parts.append(f"{customers} customers are summed in the row rest")
    if values:
        parts.append(f"{values} values of no known customer in one row")
    if not parts:
        return ""
    more = f"raise top (now {top}, at most {MAX_TOP})" if top < MAX_TOP else "filter the cost"
    return f"{' and '.join(parts)}: {more}, or name customers."


def shortened(answer: UnitCostAnswer, fits: Fits, top: int) -> UnitCostAnswer:
    """The answer with as many rows as fit; without the rows' trends, then without the totals', when it must be."""
    if fits(answer):
        return answer
    plain = replace(answer, rows=[replace(row, series={}) for row in answer.rows])
    bare = replace(plain, totals=[replace(total, buckets=[]) for total in plain.totals])
    for stage, least, note in ((answer, ENOUGH_ROWS, ""), (plain, 1, ROWS_PLAIN), (bare, 1, ALL_PLAIN)):
        found = _largest(stage, fits, top, least, note)
        if found is not None:
            return found
    return _summed(bare, 0, top, ALL_PLAIN)


def _largest(answer: UnitCostAnswer, fits: Fits, top: int, least: int, note: str) -> UnitCostAnswer | None:
    """With as many rows as fit, by bisection: a few encodings, not one for each row."""
    low, high, best = least, max(least, len(answer.rows)), None
    while low <= high:
        middle = (low + high) // 2
        tried = _summed(answer, middle, top, note)
        if fits(tried):
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best


def _summed(answer: UnitCostAnswer, keep: int, top: int, note: str) -> UnitCostAnswer:
    rows = folded(answer.rows, keep)
    said = [truncated_of(rows, top), note, "A tool's answer is at most 25 KB."]
    return replace(answer, rows=rows, truncated=" ".join(part for part in said if part))

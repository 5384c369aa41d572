"""The cost that saving a cost tag would move, by month.

Months that the account has closed are marked, because reports, chargeback and customer invoices depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import ibis

from accounts.models import Account
from finops.allocation.cost_tags.resolution import context_of, dimension_of
from finops.allocation.cost_tags.schemas import CostTagEffect, CostTagEffectRow, MonthEffect
from finops.allocation.models import CostTag
from finops.allocation.rules import CostTagDraft, read_rules
from finops.costs.dimensions import UNTAGGED, Dimension
from finops.costs.queries.closed_months import is_closed
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.money import exact_difference, exact_sum

MAX_ROWS = 1_000
"""The maximum of rows of one effect, the largest moves; the audit log keeps fewer."""

MAX_MOVES = 100_000
"""The maximum of moves from value to value that are read; above it, only the months are reported."""

Row = dict[str, Any]


def effect(
    account: Account, cost_tag: CostTag | None, draft: CostTagDraft, *, deadline: float | None = None
) -> CostTagEffect:
    """Return how saving `draft` over `cost_tag` (None: as a new one) changes cost by month, value and currency.

    Covers all days with data, in the account's cost view; stores nothing. No line's cost changes, only its value, so
    the moves of every month and currency add up to 0. Raises RuleError as `preview` does. Cost: two lake queries over
    all days, one when nothing changes.
    """
    sources = load_sources(account)
    context = context_of(account, sources)
    before = dimension_of(context, _stored_draft(cost_tag) if cost_tag else CostTagDraft(key=draft.key))
    after = dimension_of(context, draft)
    asker = _LakeReader(account, sources, (before, after), deadline)
    months = [] if before.value == after.value else asker.run(_Months(before, after, sources.view))
    changed = [row for row in months if row["changed_lines"]]
    moves = asker.run(_Moves(before, after, sources.view)) if changed else []
    totals = _totals(moves) if len(moves) <= MAX_MOVES else {}
    rows = _rows(totals, sources)
    return CostTagEffect(
        start_date=sources.coverage.first_day or sources.coverage.today,
        end_date=sources.coverage.last_day or sources.coverage.today,
        months=[_month(row, sources) for row in sorted(months, key=_by_month)] if changed else [],
        rows=sorted(_largest(rows, MAX_ROWS), key=lambda row: (row.month, row.currency, row.value)),
        truncated=_truncation_note(len(rows), len(moves)),
        warnings=list(after.warnings),
    )


def _stored_draft(cost_tag: CostTag) -> CostTagDraft:
    return CostTagDraft(
        key=cost_tag.key, rules=read_rules(cost_tag.rules), default_value=cost_tag.default_value
    )


@dataclass(frozen=True)
class _LakeReader:
    """Runs queries over all days with data."""

    account: Account
    sources: Sources
    dimensions: Sequence[Dimension]
    deadline: float | None

    def run(self, build: Any) -> list[Row]:
        coverage = self.sources.coverage
        table = engine.run(
            self.account,
            Kind.COST,
            coverage.first_day or coverage.today,
            coverage.last_day or coverage.today,
            build,
            tag_keys=list(dict.fromkeys(key for each in self.dimensions for key in each.tag_keys)),
            manifest=self.sources.manifest,
            deadline=self.deadline,
        )
        rows: list[Row] = table.to_pylist()
        return rows


@dataclass(frozen=True)
class _Months:
    """The cost by month and currency, and the cost of the lines that change their value."""

    before: Dimension
    after: Dimension
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        rows = _select_values(self, table)
        changes = rows.before != rows.after
        return rows.group_by(["month", "currency"]).aggregate(
            total=rows.amount.sum(),
            changed=ibis.ifelse(changes, rows.amount, ibis.null(rows.amount.type())).sum(),
            changed_lines=changes.sum(),
        )


@dataclass(frozen=True)
class _Moves:
    """Cost and lines by month, currency, value before and value after. Includes lines that keep their value where
    other lines arrive or leave."""

    before: Dimension
    after: Dimension
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        rows = _select_values(self, table)
        sums = rows.group_by(["month", "currency", "before", "after"]).aggregate(
            amount=rows.amount.sum(), lines=rows.count()
        )
        return sums.limit(MAX_MOVES + 1)


def _select_values(build: _Months | _Moves, table: Any) -> Any:
    lines = table.filter(is_counted(table, build.view.charge_categories))
    return lines.select(
        month=lines.charge_date.truncate("M"),
        currency=lines.currency.coalesce(NO_CURRENCY),
        before=build.before.value(lines).coalesce(UNTAGGED),
        after=build.after.value(lines).coalesce(UNTAGGED),
        amount=lines[COST_COLUMNS[build.view.basis]].coalesce(ibis.literal(Decimal(0), "decimal(38, 18)")),
    )


Key = tuple[date, str, str]
"""Month, currency, value."""


def _totals(moves: Iterable[Row]) -> dict[Key, tuple[Decimal, Decimal]]:
    """Return the cost before and after of every value that gains or loses lines."""
    before: dict[Key, list[Decimal]] = {}
    after: dict[Key, list[Decimal]] = {}
    changed_keys: set[Key] = set()
    for row in moves:
        source, target = [(row["month"], row["currency"], row[side]) for side in ("before", "after")]
        before.setdefault(source, []).append(row["amount"])
        after.setdefault(target, []).append(row["amount"])
        if source != target:
            changed_keys |= {source, target}
    return {key: (exact_sum(before.get(key, [])), exact_sum(after.get(key, []))) for key in changed_keys}


def _rows(totals: dict[Key, tuple[Decimal, Decimal]], sources: Sources) -> list[CostTagEffectRow]:
    return [
        CostTagEffectRow(
            month=month,
            value=value,
            currency=currency,
            before=before,
            after=after,
            moved=exact_difference(after, before),
            is_closed=is_closed(sources, month),
        )
        for (month, currency, value), (before, after) in totals.items()
    ]


def _largest(rows: Sequence[CostTagEffectRow], count: int) -> list[CostTagEffectRow]:
    def place(row: CostTagEffectRow) -> tuple[Decimal, date, str, str]:
        return row.moved.copy_abs().copy_negate(), row.month, row.currency, row.value

    return sorted(rows, key=place)[:count]


def _month(row: Row, sources: Sources) -> MonthEffect:
    return MonthEffect(
        month=row["month"],
        currency=row["currency"],
        total=row["total"],
        changed=row["changed"] if row["changed"] is not None else Decimal(0),
        changed_lines=row["changed_lines"],
        is_closed=is_closed(sources, row["month"]),
    )


def _by_month(row: Row) -> tuple[date, str]:
    return row["month"], row["currency"]


def _truncation_note(rows: int, moves: int) -> str:
    if moves > MAX_MOVES:
        return f"More than {MAX_MOVES:,} values change, so only months are shown."
    return f"The {MAX_ROWS:,} largest of {rows:,} changes are shown." if rows > MAX_ROWS else ""

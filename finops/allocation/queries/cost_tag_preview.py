"""Preview of what rules match, before they are saved."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import ibis

from accounts.models import Account
from finops.allocation.cost_tags.expression import CostTagValue
from finops.allocation.cost_tags.resolution import context_of, dimension_of
from finops.allocation.cost_tags.schemas import CostTagPreview, RuleCatch, ValueCatch
from finops.allocation.rules import CostTagDraft
from finops.costs.answers import MoneyAmount
from finops.costs.dimensions import UNTAGGED, Dimension
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange

PREVIEW_DAYS = 30


def preview(
    account: Account, draft: CostTagDraft, *, days: int = PREVIEW_DAYS, deadline: float | None = None
) -> CostTagPreview:
    """Return what each rule matches over the last days with data, by currency, and what stays untagged.

    Stores nothing. Counts amounts and lines as the account's cost view does. Raises RuleError for an unknown
    dimension and for a cycle. Cost: one lake query, two when a rule is shadowed.
    """
    sources = load_sources(account)
    dimension = dimension_of(context_of(account, sources), draft)
    period = sources.coverage.recent_days(days)

    def run(build: Any) -> list[dict[str, Any]]:
        table = engine.run(
            account,
            Kind.COST,
            period.start,
            period.end,
            build,
            tag_keys=dimension.tag_keys,
            manifest=sources.manifest,
            deadline=deadline,
        )
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows

    caught = run(_CatchBuild(dimension, sources.view))
    empty = sorted(set(range(1, len(draft.rules) + 1)) - {row["rule"] for row in caught})
    takers = run(_ShadowBuild(dimension, sources.view, tuple(empty))) if empty and caught else []
    return _preview(draft, dimension, period, caught, _shadow_counts(empty, takers))


@dataclass(frozen=True)
class _CatchBuild:
    """Lines and cost by number of the matching rule, value and currency."""

    dimension: Dimension
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_counted(table, self.view.charge_categories))
        value = _value_of(self.dimension)
        rows = lines.select(
            rule=value.number(lines) if value.rules else ibis.literal(1, "int64"),
            value=value(lines),
            currency=lines.currency.coalesce(NO_CURRENCY),
            amount=lines[COST_COLUMNS[self.view.basis]],
        )
        return rows.group_by(["rule", "value", "currency"]).aggregate(
            lines=rows.count(), amount=rows.amount.sum()
        )


@dataclass(frozen=True)
class _ShadowBuild:
    """The lines that each rule without matches would match alone, by the earlier rule that matches them."""

    dimension: Dimension
    view: CostViewSettings
    empty: tuple[int, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_counted(table, self.view.charge_categories))
        value = _value_of(self.dimension)
        matches = {_column(number): value.rules[number - 1].catches(lines) for number in self.empty}
        rows = lines.select(rule=value.number(lines), **matches)
        return rows.group_by("rule").aggregate(
            **{name: rows[name].fill_null(False).sum() for name in matches}
        )


def _column(number: int) -> str:
    return f"rule{number}"


def _value_of(dimension: Dimension) -> CostTagValue:
    assert isinstance(dimension.value, CostTagValue)  # noqa: S101 for the type checker
    return dimension.value


ShadowCounts = dict[int, dict[int, int]]
"""For each rule without matches: the lines that it would match alone, by the rule that matches them."""


def _shadow_counts(empty: list[int], rows: list[dict[str, Any]]) -> ShadowCounts:
    return {
        number: {row["rule"]: row[_column(number)] for row in rows if row[_column(number)]}
        for number in empty
    }


def _preview(
    draft: CostTagDraft,
    dimension: Dimension,
    days: DateRange,
    rows: list[dict[str, Any]],
    takers: ShadowCounts,
) -> CostTagPreview:
    by_rule = _group_by(rows, "rule")
    unmatched_rows = by_rule.get(len(draft.rules) + 1, [])
    values = [
        ValueCatch(value=value, lines=_lines(group), amounts=_amounts(group))
        for value, group in _group_by(rows, "value").items()
    ]
    return CostTagPreview(
        start_date=days.start,
        end_date=days.end,
        rules=[
            _catch(number, rule.name, by_rule.get(number, []), takers.get(number, {}))
            for number, rule in enumerate(draft.rules, start=1)
        ],
        values=sorted(values, key=_largest_first),
        rest_value=draft.default_value or UNTAGGED,
        rest_lines=_lines(unmatched_rows),
        rest=_amounts(unmatched_rows),
        totals=_amounts(rows),
        lines=_lines(rows),
        warnings=list(dimension.warnings),
    )


def _group_by(rows: list[dict[str, Any]], by: str) -> dict[Any, list[dict[str, Any]]]:
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(UNTAGGED if row[by] is None else row[by], []).append(row)
    return groups


def _catch(number: int, name: str, rows: list[dict[str, Any]], takers: dict[int, int]) -> RuleCatch:
    lines = _lines(rows)
    return RuleCatch(
        number=number,
        name=name,
        lines=lines,
        amounts=_amounts(rows),
        matching_lines=lines or sum(takers.values()),
        shadowed_by=sorted(takers),
    )


def _largest_first(value: ValueCatch) -> tuple[Decimal, str]:
    sizes = [part.amount.copy_abs() for part in value.amounts]
    return max(sizes, default=Decimal(0)).copy_negate(), value.value


def _lines(rows: list[dict[str, Any]]) -> int:
    return sum(row["lines"] for row in rows)


def _amounts(rows: list[dict[str, Any]]) -> list[MoneyAmount]:
    currencies = sorted({row["currency"] for row in rows})
    return [
        MoneyAmount(
            amount=exact_sum(
                row["amount"] for row in rows if row["currency"] == currency and row["amount"] is not None
            ),
            currency=currency,
        )
        for currency in currencies
    ]

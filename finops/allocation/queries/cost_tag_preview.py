"""What rules catch, before they are saved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import ibis
import pyarrow as pa

from accounts.models import Account
from finops.allocation.cost_tags.answers import CostTagPreview, RuleCatch, ValueCatch
from finops.allocation.cost_tags.expression import CostTagValue
from finops.allocation.cost_tags.resolving import context_of, dimension_of
from finops.allocation.rules import CostTagDraft
from finops.costs.answers import MoneyAmount
from finops.costs.coverage import Coverage
from finops.costs.dimensions import UNTAGGED, Dimension
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, counts
from finops.lake import engine
from finops.lake.schema import Kind
from finops.lib.money import added
from finops.lib.periods import DateRange

PREVIEW_DAYS = 30


def preview(
    account: Account, draft: CostTagDraft, *, days: int = PREVIEW_DAYS, deadline: float | None = None
) -> CostTagPreview:
    """What each rule catches of the last days with data, by currency, and what stays untagged.

    Nothing is stored. Amounts count as the account's cost view says, and so do lines. Raises RuleError for a dimension
    that is not known and for a cycle. Cost: one lake query, two when a rule is shadowed.
    """
    sources = load_sources(account)
    context = context_of(account)
    dimension = dimension_of(context, draft)
    asked = last_days(sources.coverage, days)
    table = engine.run(
        account,
        Kind.COST,
        asked.start,
        asked.end,
        _Build(dimension, sources.view),
        tag_keys=dimension.tag_keys,
        manifest=sources.manifest,
        deadline=deadline,
    )
    return _preview(draft, dimension, asked, table)


def last_days(coverage: Coverage, days: int) -> DateRange:
    last = coverage.last_day or coverage.today
    return DateRange(last - timedelta(days=days - 1), last)


@dataclass(frozen=True)
class _Build:
    """Lines and cost by the number of the rule that catches, value and currency."""

    dimension: Dimension
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        value = self.dimension.value
        assert isinstance(value, CostTagValue)  # noqa: S101 for the type checker
        lines = table.filter(counts(table, self.view.charge_categories))
        numbers = [(rule.catches(lines), number + 1) for number, rule in enumerate(value.rules)]
        rows = lines.select(
            rule=ibis.cases(*numbers, else_=0) if numbers else ibis.literal(0),
            value=value(lines),
            currency=lines.currency.coalesce(NO_CURRENCY),
            amount=lines[COST_COLUMNS[self.view.basis]],
        )
        return rows.group_by(["rule", "value", "currency"]).aggregate(
            lines=rows.count(), amount=rows.amount.sum()
        )


def _preview(draft: CostTagDraft, dimension: Dimension, days: DateRange, table: pa.Table) -> CostTagPreview:
    rows = table.to_pylist()
    by_rule: dict[int, list[dict[str, Any]]] = {}
    by_value: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_rule.setdefault(row["rule"], []).append(row)
        by_value.setdefault(row["value"] or UNTAGGED, []).append(row)
    rest = by_rule.get(0, [])
    return CostTagPreview(
        start_date=days.start,
        end_date=days.end,
        rules=[
            RuleCatch(
                number=number,
                name=rule.name,
                lines=_lines(by_rule.get(number, [])),
                amounts=_amounts(by_rule.get(number, [])),
                matching_lines=_lines(by_rule.get(number, [])),
                shadowed_by=[],
            )
            for number, rule in enumerate(draft.rules, start=1)
        ],
        values=[
            ValueCatch(value=value, lines=_lines(found), amounts=_amounts(found))
            for value, found in by_value.items()
        ],
        rest_value=draft.default_value or UNTAGGED,
        rest_lines=_lines(rest),
        rest=_amounts(rest),
        totals=_amounts(rows),
        lines=_lines(rows),
        warnings=list(dimension.warnings),
    )


def _lines(rows: list[dict[str, Any]]) -> int:
    return sum(row["lines"] for row in rows)


def _amounts(rows: list[dict[str, Any]]) -> list[MoneyAmount]:
    currencies = sorted({row["currency"] for row in rows})
    return [
        MoneyAmount(
            amount=added(
                row["amount"] for row in rows if row["currency"] == currency and row["amount"] is not None
            ),
            currency=currency,
        )
        for currency in currencies
    ]

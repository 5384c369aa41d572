"""The share of the cost that the rules of each cost tag match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

import ibis
from msgspec import Struct

from accounts.models import Account
from finops.allocation.cost_tags.expression import CostTagValue
from finops.allocation.cost_tags.resolution import context_of, dimension_of
from finops.allocation.queries.cost_tag_preview import PREVIEW_DAYS
from finops.allocation.rules import CostTagDraft
from finops.costs.dimensions import Dimension
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.errors import UserError
from finops.lib.money import ratio


class CurrencyCoverage(Struct, frozen=True, kw_only=True):
    """The cost of one currency and the part that any rule matches. `share` is None where there is no cost."""

    currency: str
    caught: Decimal
    total: Decimal

    @property
    def share(self) -> Decimal | None:
        """caught ÷ total: how much of the cost is allocated (FinOps Framework, capability Allocation)."""
        return ratio(self.caught, self.total)


class CostTagCoverage(Struct, frozen=True, kw_only=True):
    """The coverage of one cost tag, the largest currency first. `problem`: why its rules cannot be evaluated."""

    covered: tuple[CurrencyCoverage, ...] = ()
    problem: str = ""


def cost_tag_coverages(
    account: Account,
    drafts: Sequence[CostTagDraft],
    *,
    days: int = PREVIEW_DAYS,
    deadline: float | None = None,
) -> dict[str, CostTagCoverage]:
    """The coverage by each cost tag over the last days with data, by key, in the account's cost view.

    Cost: one lake query for all of them and the reads of their dimensions; none per rule.
    """
    by_key: dict[str, CostTagCoverage] = {}
    dimensions: list[Dimension] = []
    context = context_of(account)
    for draft in drafts:
        try:
            dimensions.append(dimension_of(context, draft))
        except UserError as problem:
            by_key[draft.key] = CostTagCoverage(problem=problem.message)
    if not dimensions:
        return by_key
    sources = load_sources(account)
    period = sources.coverage.recent_days(days)
    table = engine.run(
        account,
        Kind.COST,
        period.start,
        period.end,
        _Build(tuple(dimensions), sources.view),
        tag_keys=list(dict.fromkeys(key for dimension in dimensions for key in dimension.tag_keys)),
        manifest=sources.manifest,
        deadline=deadline,
    )
    rows = sorted(table.to_pylist(), key=lambda row: (-(row["total"] or 0), row["currency"]))
    for index, dimension in enumerate(dimensions):
        by_key[dimension.name.partition(":")[2]] = CostTagCoverage(
            covered=tuple(
                CurrencyCoverage(
                    currency=row["currency"],
                    caught=row[f"caught{index}"] or Decimal(0),
                    total=row["total"] or Decimal(0),
                )
                for row in rows
            )
        )
    return by_key


@dataclass(frozen=True)
class _Build:
    """The cost per currency and the part that each cost tag's rules match. Equal for equal rules."""

    dimensions: tuple[Dimension, ...]
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_counted(table, self.view.charge_categories))
        amount = lines[COST_COLUMNS[self.view.basis]]
        caught = {
            f"caught{index}": amount.sum(where=is_caught_by_rules(dimension, lines))
            for index, dimension in enumerate(self.dimensions)
        }
        return lines.group_by(currency=lines.currency.coalesce(NO_CURRENCY)).aggregate(
            total=amount.sum(), **caught
        )


def is_caught_by_rules(dimension: Dimension, lines: Any) -> Any:
    """Whether any rule of a cost tag gives a line its value. The default value is not a rule: coverage counts such a
    line as untagged."""
    value = dimension.value
    assert isinstance(value, CostTagValue)  # noqa: S101 for the type checker
    return reduce(or_, [rule.catches(lines) for rule in value.rules], ibis.literal(False))

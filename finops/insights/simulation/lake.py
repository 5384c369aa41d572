"""What a simulation reads of the lake: sums by what happens to a line. Pure: only the engine runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

import ibis
import pyarrow as pa

from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import NO_CURRENCY, is_incomplete

USAGE: Final = "usage"
COVERED: Final = "covered"
"""Usage that a commitment pays for."""
UNUSED: Final = "unused"
FIXED: Final = "fixed"
"""Fees, taxes, credits and adjustments."""

NO_RULE: Final = -1


@dataclass(frozen=True)
class SimulationBuild:
    """Amortized cost and contracted cost by currency, kind of line, growth rule and whether a contracted cost is there.
    Equal for equal questions, so that the lake compiles each once."""

    filters: tuple[ResolvedFilter, ...]
    rules: tuple[ResolvedFilter | None, ...]
    """None: all usage."""
    incomplete: tuple[tuple[int, date], ...]

    @property
    def tag_keys(self) -> list[str]:
        filters = [*self.filters, *(each for each in self.rules if each is not None)]
        return [key for item in filters for key in item.dimension.tag_keys]

    def __call__(self, table: Any) -> Any:
        conditions = all_of(table, self.filters)
        lines = table.filter(reduce(and_, conditions)) if conditions else table
        late: Any = is_incomplete(lines, self.incomplete) if self.incomplete else ibis.literal(False)
        keyed = lines.select(
            currency=lines.currency.coalesce(NO_CURRENCY),
            line=_kind_of(lines),
            rule=_rule_of(lines, self.rules),
            has_price=lines.contracted_cost.notnull(),
            cost=lines.effective_cost,
            contracted=lines.contracted_cost,
            late=ibis.ifelse(late, lines.effective_cost, ibis.literal(Decimal(0), type="decimal(38, 18)")),
        )
        return keyed.group_by("currency", "line", "rule", "has_price").aggregate(
            cost=keyed.cost.sum(), contracted=keyed.contracted.sum(), late=keyed.late.sum()
        )


def _kind_of(lines: Any) -> Any:
    return ibis.cases(
        ((lines.charge_category != "Usage").fill_null(True), FIXED),
        (lines.commitment_status == "Unused", UNUSED),
        (lines.commitment_status == "Used", COVERED),
        else_=USAGE,
    )


def _rule_of(lines: Any, rules: Sequence[ResolvedFilter | None]) -> Any:
    """The place of the first rule that a line fits."""
    conditions = [
        (ibis.literal(True) if rule is None else rule.condition(lines).fill_null(False), place)
        for place, rule in enumerate(rules)
    ]
    return ibis.cases(*conditions, else_=NO_RULE) if conditions else ibis.literal(NO_RULE)


@dataclass(frozen=True)
class SimulationSum:
    """What lines of one kind add up to. `contracted` None: the lines have none."""

    currency: str
    line: str
    rule: int
    cost: Decimal
    contracted: Decimal | None
    late: Decimal


def read_sums(table: pa.Table) -> list[SimulationSum]:
    return [
        SimulationSum(
            row["currency"],
            row["line"],
            row["rule"],
            row["cost"] or Decimal(0),
            row["contracted"] if row["has_price"] else None,
            row["late"] or Decimal(0),
        )
        for row in table.to_pylist()
    ]

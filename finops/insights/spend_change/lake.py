"""The expression of `explain_spend_change`: cost of each group, and of each SKU in it, on either side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import repeat
from operator import and_
from typing import Any, NamedTuple

import ibis
import pyarrow as pa

from finops.costs.comparison import SourceOverride
from finops.costs.dimensions import Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import (
    COST_COLUMNS,
    CREDITS,
    NO_CURRENCY,
    REFUNDS,
    is_counted,
    is_on_side,
    lump_service,
    part_of,
)
from finops.insights.cost_scope import dimension_columns
from finops.lib.periods import DateRange, whole_months

_SIDES = ("now", "before")


@dataclass(frozen=True)
class ChangePlan:
    """Parameters of the expression; equal for equal queries, so that the lake compiles each once.

    `metered` separates SKUs and units within a group: without it there are fewer sums, and no quantities.
    """

    current: DateRange
    previous: DateRange
    dimensions: tuple[Dimension, ...]
    filters: tuple[ResolvedFilter, ...]
    basis: str
    categories: tuple[str, ...]
    metered: bool = True
    source_overrides: tuple[SourceOverride, ...] = ()
    """Sources that compare other days."""
    whole: DateRange | None = None
    """Days of the query: their lines that are on neither side are summed as left out."""

    @property
    def compares_parts(self) -> bool:
        """Whether a side has partial months, so that monthly charges may be missing in it."""
        return not (whole_months(self.current) and whole_months(self.previous))

    @property
    def tag_keys(self) -> list[str]:
        used = [*self.dimensions, *(item.dimension for item in self.filters)]
        return list(dict.fromkeys(key for dimension in used for key in dimension.tag_keys))

    def __call__(self, table: Any) -> Any:
        """Return sums by group, currency and, if metered, SKU and unit."""
        here = self.is_now(table) | self.is_before(table)
        if self.whole is not None:
            here |= table.charge_date.between(self.whole.start, self.whole.end)
        lines = table.filter(
            reduce(and_, [here, is_counted(table, self.categories), *all_of(table, self.filters)])
        )
        sides = {"now": self.is_now(lines), "before": self.is_before(lines)}
        amount = lines[COST_COLUMNS[self.basis]].coalesce(_zero())
        keys, labels = dimension_columns(lines, self.dimensions)
        selected = lines.select(
            currency=lines.currency.coalesce(NO_CURRENCY),
            part=_credit_or_refund(lines, amount),
            **({"lump": lump_service(lines)} if self.compares_parts else {}),
            **keys,
            **labels,
            **(_metered_columns(lines) if self.metered else {}),
            **{f"amount_{side}": ibis.ifelse(here, amount, _zero()) for side, here in sides.items()},
            amount_left_out=ibis.ifelse(sides["now"] | sides["before"], _zero(), amount),
            **{f"there_{side}": ibis.ifelse(here, 1, 0) for side, here in sides.items()},
            **{
                f"quantity_{side}": ibis.ifelse(here, lines.consumed_quantity.coalesce(_zero()), _zero())
                for side, here in sides.items()
                if self.metered
            },
        )
        return selected.group_by(self._keys(selected)).aggregate(**_sums(selected))

    def is_now(self, lines: Any) -> Any:
        return is_on_side(
            lines, self.current, {each.source_id: each.current for each in self.source_overrides}
        )

    def is_before(self, lines: Any) -> Any:
        return is_on_side(
            lines, self.previous, {each.source_id: each.previous for each in self.source_overrides}
        )

    @property
    def days(self) -> DateRange:
        """Days of the lines to read."""
        sides = [self.current, self.previous]
        sides += [side for each in self.source_overrides for side in (each.current, each.previous) if side]
        sides += [self.whole] if self.whole else []
        return DateRange(min(side.start for side in sides), max(side.end for side in sides))

    def _keys(self, selected: Any) -> list[str]:
        names = [f"key{at}" for at in range(len(self.dimensions))] + [
            "currency",
            "part",
            "lump",
            "sku",
            "unit",
        ]
        return [name for name in names if name in selected.columns]


def _credit_or_refund(lines: Any, amount: Any) -> Any:
    """Return the kind of lines that reduce a bill: their beginning is not new cost, their end not ended cost."""
    part = part_of(lines, amount)
    return ibis.ifelse(part.isin([CREDITS, REFUNDS]).fill_null(False), part, "")


def _metered_columns(lines: Any) -> dict[str, Any]:
    """Return the columns that a price belongs to. A line without a quantity has no unit here, whatever its unit
    column contains."""
    unit = ibis.ifelse(lines.consumed_quantity.notnull(), lines.consumed_unit, ibis.null("string"))
    # What has no meter, such as tax, is called by its charge category.
    meter = lines.usage_type.coalesce(lines.charge_category)
    return {"sku": lines.sku_id.coalesce(meter), "unit": unit, "usage_type": meter}


def _sums(selected: Any) -> dict[str, Any]:
    measures = [name for name in selected.columns if name.startswith(("amount_", "quantity_"))]
    names = [
        name for name in selected.columns if name.startswith(("label", "there_")) or name == "usage_type"
    ]
    return {name: selected[name].sum() for name in measures} | {name: selected[name].max() for name in names}


def _zero() -> Any:
    return ibis.literal(Decimal(0), type="decimal(38, 18)")


class Side(NamedTuple):
    """One side of a sum, and whether it has any line."""

    amount: Decimal = Decimal(0)
    quantity: Decimal = Decimal(0)
    is_there: bool = False


class MeteredSum(NamedTuple):
    """Cost of a group on either side, of one SKU in one unit; `unit` is None without a quantity. `part` is `credits`
    or `refunds`, else empty."""

    keys: tuple[str, ...]
    labels: tuple[str | None, ...]
    currency: str
    item: str
    unit: str | None
    part: str
    now: Side
    before: Side
    lump: str | None = None
    """Service of monthly and one-time charges, if partial months are compared."""
    left_out: Decimal = Decimal(0)
    """Cost on the days of the query that are on neither side."""

    @property
    def is_compared(self) -> bool:
        return self.now.is_there or self.before.is_there


def read_sums(plan: ChangePlan, table: pa.Table) -> list[MeteredSum]:
    """Return the result of a plan as typed rows. Read by column: 10,000 dictionaries of rows take twice as long."""
    columns = {name: table[name].to_pylist() for name in table.column_names}
    nothing = list(repeat(None, table.num_rows))
    width = range(len(plan.dimensions))
    items = zip(columns.get("usage_type", nothing), columns.get("sku", nothing), strict=True)
    return list(
        map(
            MeteredSum,
            zip(*(columns[f"key{at}"] for at in width), strict=True),
            zip(*(columns.get(f"label{at}", nothing) for at in width), strict=True),
            columns["currency"],
            (usage_type or sku or "" for usage_type, sku in items),
            columns.get("unit", nothing),
            columns["part"],
            *(_side(columns, side) for side in _SIDES),
            columns.get("lump", nothing),
            columns["amount_left_out"],
        )
    )


def _side(columns: Mapping[str, list[Any]], side: str) -> Iterator[Side]:
    amounts = columns[f"amount_{side}"]
    quantities = columns.get(f"quantity_{side}", list(repeat(Decimal(0), len(amounts))))
    return map(Side, amounts, quantities, map(bool, columns[f"there_{side}"]))

"""The columns of an export: those of FOCUS, the providers' own, and the console's (x_). Pure.

A month has all columns of FOCUS, whatever its bill had, so that tables over the files need no new columns when a bill has
more. Columns without a value in any line are null.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ibis

from finops.costs.dimensions import Dimension
from finops.costs.focus.columns import AMOUNTS, TAGS, TEXTS
from finops.lake.engine.compiler import fact_table
from finops.lake.schema import ExtensionKey, Kind, extension_column, tag_column

TEAM: Final = "x_Team"
COST_SOURCE: Final = "x_CostSource"
ACTOR: Final = "x_Actor"
COST_TAG_PREFIX: Final = "x_CostTag_"
SPLIT_DIMENSION: Final = "x_SplitDimension"
SPLIT_VALUE: Final = "x_SplitValue"

PROVIDER_COLUMNS: Final = "x_*"
"""The name for all of the providers' own columns among the excluded columns."""

MANDATORY: Final = frozenset(
    {
        *("BilledCost", "EffectiveCost", "BillingCurrency", "BillingPeriodStart", "ChargePeriodStart"),
        *("ChargeCategory", "ProviderName", "ServiceProviderName", "ServiceName"),
    }
)
"""Columns that every tool, and the product's own import, needs to read the files."""

_MOMENT: Final = "timestamp('UTC', 6)"
_MERGED: Final = frozenset({"usage_type", "sku_meter", "provider", "provider_name"})


def focus_expressions(lines: Any) -> dict[str, Any]:
    """Return an expression over the table of cost lines for every column of FOCUS, by its name."""
    day, period = lines.charge_date, lines.billing_period
    next_month, next_day = period + ibis.interval(months=1), day + ibis.interval(days=1)
    is_day = lines.charge_period_start.isnull()
    columns = {
        "BillingPeriodStart": lines.billing_period_start.coalesce(period.cast(_MOMENT)),
        "BillingPeriodEnd": lines.billing_period_end.coalesce(next_month.cast(_MOMENT)),
        "ChargePeriodStart": lines.charge_period_start.coalesce(day.cast(_MOMENT)),
        # In a bill with days only, the period is the day; in a bill with times, a missing end stays unknown.
        "ChargePeriodEnd": lines.charge_period_end.coalesce(
            ibis.ifelse(is_day, next_day.cast(_MOMENT), None)
        ),
        "ServiceProviderName": lines.provider,
        "ProviderName": lines.provider_name.coalesce(lines.provider),
        "SkuMeter": lines.sku_meter.coalesce(lines.usage_type),
    }
    columns |= {focus: lines[column] for column, focus in AMOUNTS.items()}
    return columns | {names[0]: lines[column] for column, names in TEXTS.items() if column not in _MERGED}


def focus_columns() -> list[str]:
    """The names of all columns of FOCUS."""
    return sorted([*focus_expressions(fact_table(Kind.COST)), TAGS])


@dataclass(frozen=True)
class SourceNames:
    """The name of a line's cost source; the id of a deleted one."""

    names: tuple[tuple[str, str], ...]

    def __call__(self, lines: Any) -> Any:
        return lines.source.cases(*self.names, else_=lines.source) if self.names else lines.source


@dataclass(frozen=True)
class CostColumns:
    """The exported columns of an account's lines, for the lake to compile: equal if the files would be.

    `added` are the console's own columns by name, `extensions` the providers' own with the key of each, `tags` the keys of
    tags, which are columns of the lake and become the column Tags.
    """

    added: tuple[tuple[str, Any], ...]
    extensions: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    excluded: frozenset[str] = frozenset()
    added_keys: tuple[str, ...] = ()
    """Keys that the added columns read."""

    @property
    def keys(self) -> list[str]:
        """All keys that the lake must return."""
        own = [*(ExtensionKey(key) for _, key in self.extensions), *self.tags]
        return list({(type(key), str(key)): key for key in [*own, *self.added_keys]}.values())

    def __call__(self, lines: Any) -> Any:
        columns = focus_expressions(lines)
        columns |= {name: value(lines) for name, value in self.added}
        columns |= {name: lines[extension_column(key)] for name, key in self.extensions}
        selected = {name: column for name, column in columns.items() if name not in self.excluded}
        tags = {} if TAGS in self.excluded else {tag_column(key): lines[tag_column(key)] for key in self.tags}
        return lines.select(**selected, **tags)


def cost_tag_columns(keys: Iterable[str]) -> dict[str, str]:
    """Return a column name for each cost tag, by its key. Names that differ in punctuation only get a number."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for key in sorted(keys):
        base = name = COST_TAG_PREFIX + re.sub(r"\W", "_", key, flags=re.ASCII)
        number = 2
        while name.casefold() in used:
            name, number = f"{base}_{number}", number + 1
        used.add(name.casefold())
        names[key] = name
    return names


def extension_columns(keys: Sequence[str], taken: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return column names for the providers' own columns, and those left out because another column has the name: engines
    compare names without case."""
    names, left_out = {}, []
    used = {name.casefold() for name in taken}
    for key in sorted(keys):
        name = f"x_{key}"
        if name.casefold() in used:
            left_out.append(name)
            continue
        used.add(name.casefold())
        names[name] = key
    return names, left_out


def added_columns(dimensions: Mapping[str, Dimension], sources: SourceNames) -> tuple[tuple[str, Any], ...]:
    """Return the console's own columns: source, actor, team and cost tags; null where a line has no value."""
    own: list[tuple[str, Any]] = [(COST_SOURCE, sources), (ACTOR, _actor)]
    return (*own, *((name, dimension.value) for name, dimension in dimensions.items()))


def _actor(lines: Any) -> Any:
    return lines.actor

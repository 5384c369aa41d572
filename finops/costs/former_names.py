"""Earlier names of renamed ids, so that a filter by one of them selects the whole account or commitment.

Bills have the name at their time. A filter compares the newest name of an id; an earlier name means the id that had
it, unless another id has that name now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis

from finops.costs.dated_names import strip_date_prefix, with_date_prefix
from finops.costs.dictionary_encoding import fold_case
from finops.costs.dimensions import Dimension, DimensionContext, Expression
from finops.costs.value_names import FormerName
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.periods import ALL_DAYS

MOST_NAMES = 10_000
"""The maximum of names of renamed ids that are read; above it, names are compared line by line."""

LISTED_IDS = 50
"""The maximum of ids in a CASE; more are looked up in a map."""


def with_newest_names(context: DimensionContext, dimension: Dimension) -> Dimension:
    """Return the dimension with the newest name of each renamed id on all lines, and what earlier names mean.

    Unchanged if its ids have no names, or there are thousands. One lake query over all days, of rollups if there are
    any, cached for the current files.
    """
    if dimension.label is None or dimension.has_many_values:
        return dimension
    table = engine.run(
        context.account,
        Kind.COST,
        ALL_DAYS.start,
        ALL_DAYS.end,
        _NamesBuild(dimension.value, dimension.label),
        tag_keys=dimension.tag_keys,
        allow_rollups=True,
        manifest=context.manifest,
        in_own_currency=True,
    )
    rows = table.to_pylist()
    if not rows or len(rows) > MOST_NAMES:
        return dimension
    newest = {row["value"]: strip_date_prefix(row["newest"]) for row in rows}
    current = {fold_case(name) for name in newest.values()}
    former: dict[str, list[FormerName]] = {}
    for row in rows:
        if fold_case(row["name"]) not in current:
            former.setdefault(fold_case(row["name"]), []).append(
                FormerName(row["value"], newest[row["value"]])
            )
    renamed = {row["value"] for row in rows if row["renamed"]}
    pairs = tuple(sorted((value, name) for value, name in newest.items() if value in renamed))
    return replace(dimension, label=_NewestName(dimension.value, dimension.label, pairs), former=former)


def former_of(dimension: Dimension, value: str) -> Sequence[FormerName]:
    """Return the ids that had this name earlier; empty for any other text."""
    return dimension.former.get(fold_case(value.strip()), ())


def former_ids(dimension: Dimension, op: str, values: Sequence[str]) -> list[str]:
    """Return the ids with an earlier name that passes a filter."""
    folded_values = [fold_case(value.strip()) for value in values]
    return [
        each.id
        for name, ids in dimension.former.items()
        if text_passes(op, name, folded_values)
        for each in ids
    ]


def text_passes(op: str, text: str, values: Sequence[str]) -> bool:
    """Return whether a text equals, starts with, ends with or contains a wanted one, as the operator says. The caller
    handles `not_`. All in lower case."""
    if op in ("in", "not_in"):
        return text in values
    if op == "starts_with":
        return text.startswith(tuple(values))
    if op == "ends_with":
        return text.endswith(tuple(values))
    return any(value in text for value in values)


@dataclass(frozen=True)
class _NewestName:
    """A line's name, or the newest name of its id if that was renamed."""

    value: Expression
    label: Expression
    names: tuple[tuple[str, str], ...]

    def __call__(self, table: Any) -> Any:
        value, label = self.value(table), self.label(table)
        if len(self.names) <= LISTED_IDS:
            return value.cases(*self.names, else_=label)
        ids, names = (list(each) for each in zip(*self.names, strict=True))
        names_by_id = ibis.map(ibis.array(ids), ibis.array(names))
        return ibis.ifelse(value.isin(ids), names_by_id.get(value, label), label)


@dataclass(frozen=True)
class _NamesBuild:
    """The names of ids that have had several, and the ids that have one of these names."""

    value: Expression
    label: Expression

    def __call__(self, table: Any) -> Any:
        lines = table.select("charge_date", value=self.value(table), name=self.label(table))
        lines = lines.filter(lines.value.notnull() & lines.name.notnull())
        pairs = lines.group_by(["value", "name"]).aggregate(charge_date=lines.charge_date.max())
        by_id = ibis.window(group_by="value")
        several = pairs.mutate(
            newest=with_date_prefix(pairs, pairs.name).max().over(by_id),
            renamed=pairs.name.count().over(by_id) > 1,
        )
        by_name = ibis.window(group_by=several.name.lower())
        shared = several.mutate(shared=several.renamed.any().over(by_name))
        ambiguous = shared.filter(shared.renamed | shared.shared)
        return (
            ambiguous.select("value", "name", "newest", "renamed")
            .order_by("value", "name")
            .limit(MOST_NAMES + 1)
        )

"""Filters on cost lines as Ibis conditions. Pure, except for the names of renamed ids.

All filters ignore case. A line without a value passes `not_in` and `not_contains`, and passes `in` only by the name
for no value, such as `(untagged)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import ibis

from finops.costs.aliases import candidates
from finops.costs.dictionary_encoding import dictionary_encoding_of, fold_case
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.former_names import former_ids, text_passes, with_newest_names
from finops.costs.spend_query import Filter, Op
from finops.costs.value_names import with_value_names
from finops.lib.errors import UserError

MAX_VALUES = 500

LISTED_VALUES = 50
"""The maximum of values compared one by one, once per entry of a Parquet dictionary; DuckDB compares IN for each line
(measured: 4 times as long). Longer lists are hashed."""


@dataclass(frozen=True)
class ResolvedFilter:
    """A filter with its dimension resolved. `matching_values` are the values with aliases and the ids of names."""

    dimension: Dimension
    op: str
    values: tuple[str, ...]
    matching_values: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Values that pass with any operator, because their name passes."""

    @property
    def is_exact(self) -> bool:
        return self.op in ("in", "not_in")

    def condition(self, table: Any) -> Any:
        """Return the Ibis condition of this filter; null means no."""
        if self.op == "absent":
            return self._is_absent(table)
        positive = self._positive(table)
        return ~positive.fill_null(False) if self.op in ("not_in", "not_contains") else positive

    def matches(self, table: Any) -> Any:
        """Return the Ibis condition that a line's value (or label) equals or contains a wanted one; null means no."""
        numbers = dictionary_encoding_of(self.dimension.value)
        if numbers is not None and self.dimension.label is None:
            matching_texts = [fold_case(value) for value in self.matching_values]
            return numbers.among(table, lambda text: self._text_matches(fold_case(text), matching_texts))
        value = self.dimension.value(table)
        texts = [value] if self.dimension.label is None else [value, self.dimension.label(table)]
        conditions = [self._matches(text.lower()) for text in texts]
        if self.also:
            conditions.append(value.lower().isin([fold_case(each) for each in self.also]))
        return reduce(or_, conditions)

    def _is_absent(self, table: Any) -> Any:
        numbers = dictionary_encoding_of(self.dimension.value)
        if numbers is None:
            return self.dimension.value(table).isnull()
        return ~numbers.among(table, lambda _text: True).fill_null(False)

    def _positive(self, table: Any) -> Any:
        condition = self.matches(table)
        if self.is_exact and self.wants_absent:
            return condition | self._is_absent(table)
        return condition

    def _matches(self, text: Any) -> Any:
        literals = [ibis.literal(value).lower() for value in self.matching_values]
        if self.is_exact and len(literals) <= LISTED_VALUES:
            return ibis.array(literals).contains(text)
        if self.is_exact:
            return text.isin(literals)
        if self.op == "starts_with":
            return reduce(or_, [text.startswith(value) for value in literals])
        if self.op == "ends_with":
            return reduce(or_, [text.endswith(value) for value in literals])
        return reduce(or_, [text.contains(value) for value in literals])

    def matches_value(self, value: str, label: str | None = None) -> bool:
        """Apply the same condition to a value given by name; lines without a value have the absent name."""
        is_absent = value == self.dimension.absent
        if self.op == "absent":
            return is_absent
        texts = [] if is_absent else [text.lower() for text in (value, label) if text is not None]
        lowered = [value.lower() for value in self.matching_values]
        is_match = any(self._text_matches(text, lowered) for text in texts)
        if self.is_exact and is_absent:
            is_match = self.wants_absent
        return not is_match if self.op in ("not_in", "not_contains") else is_match

    def _text_matches(self, text: str, values: Sequence[str]) -> bool:
        return text in [fold_case(each) for each in self.also] or text_passes(self.op, text, values)

    @property
    def wants_absent(self) -> bool:
        return self.dimension.absent in [value.strip().lower() for value in self.values]


def dimension_warnings(dimensions: Iterable[Dimension]) -> list[str]:
    """Return the warnings of these dimensions, each once."""
    return list(dict.fromkeys(sentence for item in dimensions for sentence in item.warnings))


def resolve_filters(context: DimensionContext, filters: Sequence[Filter]) -> list[ResolvedFilter]:
    """Resolve the dimensions, aliases and names of filters. Raises UserError for an unknown dimension or bad value.

    One lake query for each filter on a dimension with names, such as account; cached for the current files.
    """
    return [_resolve_filter(context, item) for item in filters]


def _resolve_filter(context: DimensionContext, item: Filter) -> ResolvedFilter:
    dimension = with_value_names(context, registry.resolve(context, item.dimension, field="filters"))
    _check_values(dimension, item)
    dimension = with_newest_names(context, dimension)
    return resolved_filter(dimension, item.op, item.values)


def resolved_filter(dimension: Dimension, op: Op, values: Sequence[str]) -> ResolvedFilter:
    """Return a filter on a resolved dimension."""
    # The bills' names for EC2 do not begin with it, but a search for names with EC2 means them too.
    aliased = op not in ("starts_with", "ends_with")
    matching_values = [
        name for value in values for name in (candidates(dimension.name, value) if aliased else [value])
    ]
    also = former_ids(dimension, op, values)
    if dimension.names is not None and op in ("in", "not_in"):
        matching_values += [name for value in values for name in dimension.names.values_with_name(value)]
    elif dimension.names is not None and op in ("contains", "not_contains"):
        also += [name for value in values for name in dimension.names.values_containing(value)]
    return ResolvedFilter(
        dimension=dimension,
        op=op,
        values=tuple(values),
        matching_values=tuple(dict.fromkeys(matching_values)),
        also=tuple(dict.fromkeys(also)),
    )


def _check_values(dimension: Dimension, item: Filter) -> None:
    if item.op == "absent" and item.values:
        raise UserError(
            f"filters: op absent on {dimension.name} has no values. Remove values, or use op in.",
            field="filters",
            value=item.values,
        )
    if item.op != "absent" and not [value for value in item.values if value]:
        raise UserError(
            f"filters: op {item.op} on {dimension.name} needs at least one value (see "
            "listDimensionValues). For lines without a value use op absent.",
            field="filters",
        )
    if len(item.values) > MAX_VALUES:
        raise UserError(
            f"filters: {dimension.name} has {len(item.values)} values; the maximum is {MAX_VALUES}. "
            "Use op contains, starts_with or ends_with.",
            field="filters",
        )


def all_of(table: Any, filters: Sequence[ResolvedFilter]) -> list[Any]:
    return [item.condition(table) for item in filters]

"""The one lake query behind other spellings: parts stacked, equal for equal questions, so that the lake keeps its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import Any

import ibis

from finops.allocation.cost_tags.expression import CostTagValue
from finops.costs.dimensions import ColumnExpression, Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.insights.tag_recommendations.similarity import VALUE_WORDS, value_meaning
from finops.lake.schema import tag_column

BETWEEN_DIGITS = "~"
"""Stands in the lake for the sign that `value_meaning` keeps between two digits."""


@dataclass(frozen=True)
class OtherSpellings:
    """Lines that a filter on a tag misses though one of `keys` has a value that means what it names: `in` leaves them out,
    `not_in` keeps them. Of a part of a value, such as contains: the same part under another key. A line counts once, for
    the first of its keys."""

    filters: tuple[ResolvedFilter, ...]
    missed_by: ResolvedFilter
    keys: tuple[str, ...]
    meanings: tuple[str, ...]

    def rows(self, table: Any) -> Any:
        names = [tag_column(key) for key in self.keys]
        sums = _sum_lines(_filter_lines(table, self.filters), [*names, "currency"])
        passes = self.missed_by.condition(sums).fill_null(False)
        sums = _only(sums, passes if self.missed_by.op == "not_in" else ~passes)
        similar = [self._similar_values(sums, key) for key in self.keys]
        sums = _only(sums, reduce(or_, [condition.fill_null(False) for condition in similar]))
        similar = [self._similar_values(sums, key) for key in self.keys]
        return sums.select(
            place=_first_place(similar),
            value=ibis.cases(
                *((condition, sums[name]) for condition, name in zip(similar, names, strict=True))
            ),
            currency=sums.currency,
            amount=sums.amount,
        )

    def _similar_values(self, lines: Any, key: str) -> Any:
        if self.missed_by.is_exact:
            return _has_meaning(lines[tag_column(key)], self.meanings)
        dimension = replace(self.missed_by.dimension, value=ColumnExpression(tag_column(key)))
        return replace(self.missed_by, dimension=dimension).condition(lines)


@dataclass(frozen=True)
class OtherKeys:
    """Lines without a tag key that have another which means the same; a line counts once."""

    filters: tuple[ResolvedFilter, ...]
    key: str
    keys: tuple[str, ...]

    def rows(self, table: Any) -> Any:
        lines = _filter_lines(table, self.filters)
        lines = lines.filter(lines[tag_column(self.key)].isnull())
        lines = lines.filter(reduce(or_, [lines[tag_column(key)].notnull() for key in self.keys]))
        has = [lines[tag_column(key)].notnull() for key in self.keys]
        return lines.select(
            place=_first_place(has), value=ibis.null("string"), currency=lines.currency, amount=lines.amount
        )


@dataclass(frozen=True)
class SameValue:
    """Lines of which another dimension has a value that means the same, or one of `names`."""

    filters: tuple[ResolvedFilter, ...]
    dimension: Dimension
    meanings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def rows(self, table: Any) -> Any:
        sums = _by_value(_filter_lines(table, self.filters), self.dimension)
        matching = (
            sums.value.isin(list(self.names)) if self.names else _has_meaning(sums.value, self.meanings)
        )
        return _only(sums, matching.fill_null(False))


@dataclass(frozen=True)
class WithoutValue:
    """Lines that have no value of a dimension, or a cost tag's default one."""

    filters: tuple[ResolvedFilter, ...]
    dimension: Dimension

    def rows(self, table: Any) -> Any:
        sums = _by_value(_filter_lines(table, self.filters), self.dimension)
        default, without = default_of(self.dimension), sums.value.isnull()
        return _only(sums, without | (sums.value == default).fill_null(False) if default else without)


Part = OtherSpellings | OtherKeys | SameValue | WithoutValue


@dataclass(frozen=True)
class SpellingsBuild:
    """The cost of each part by the place of its key, value and currency."""

    parts: tuple[Part, ...]
    basis: str
    categories: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_counted(table, self.categories)).mutate(
            currency=table.currency.coalesce(NO_CURRENCY), amount=table[COST_COLUMNS[self.basis]]
        )
        sums = [self._sum_lines(part.rows(lines), number) for number, part in enumerate(self.parts)]
        return ibis.union(*sums) if len(sums) > 1 else sums[0]

    def _sum_lines(self, rows: Any, number: int) -> Any:
        sums = rows.group_by(["place", "value", "currency"]).aggregate(amount=rows.amount.sum())
        return sums.mutate(part=ibis.literal(number, "int64"))


def default_of(dimension: Dimension) -> str:
    """The value of a cost tag for lines that no rule catches; empty for none, and for other dimensions."""
    return dimension.value.default if isinstance(dimension.value, CostTagValue) else ""


def _filter_lines(table: Any, filters: Sequence[ResolvedFilter]) -> Any:
    return table.filter(reduce(and_, all_of(table, filters))) if filters else table


def _sum_lines(lines: Any, names: list[str]) -> Any:
    """Aggregation before values are compared: rules and patterns cost most, and there are fewer sums than lines."""
    return lines.group_by(names).aggregate(amount=lines.amount.sum())


def _only(sums: Any, condition: Any) -> Any:
    """Reads the amount, so that DuckDB does not ask the condition of each line before it sums (1.0 s of 1.4)."""
    return sums.filter(ibis.ifelse(sums.amount.notnull(), condition, ibis.literal(False)))


def _by_value(lines: Any, dimension: Dimension) -> Any:
    rows = lines.select(value=dimension.value(lines), currency=lines.currency, amount=lines.amount)
    return _sum_lines(rows, ["value", "currency"]).mutate(place=ibis.literal(0, "int64"))


def _first_place(conditions: Sequence[Any]) -> Any:
    return ibis.cases(*((each, ibis.literal(place, "int64")) for place, each in enumerate(conditions)))


def _has_meaning(value: Any, meanings: Sequence[str]) -> Any:
    """`similarity.value_meaning` in the lake: whether a value means one of these. Null is no."""
    words = {word for word, meaning in VALUE_WORDS.items() if meaning in meanings} | set(meanings)
    text = value.lower()
    for _ in range(2):  # 1.2.3: the second sign begins where the first match ended
        text = text.re_replace(r"(\d)[^\p{L}\p{N}~]+(\d)", rf"\1{BETWEEN_DIGITS}\2")
    bare = text.re_replace(rf"[^\p{{L}}\p{{N}}{BETWEEN_DIGITS}]+", "")
    return bare.isin(sorted(word.replace("-", BETWEEN_DIGITS) for word in words))


def meanings_of(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(meaning for value in values if (meaning := value_meaning(value))))

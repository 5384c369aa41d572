"""The four lake queries of tag recommendations, with their sums as typed values.

Coverage of keys and values is in amortized usage cost, since taxes and fees have no tags. Coverage of a draft is in
the account's cost view, as in the preview of its editor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

import ibis

from finops.allocation.cost_tags.expression import CostTagValue, apply_map, apply_steps
from finops.allocation.rules import Normalisation
from finops.costs.dimensions import ColumnExpression, Dimension, Expression
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.insights.cost_scope import CostReader
from finops.insights.tag_recommendations.schemas import KeyCoverage, TagCover
from finops.insights.tag_recommendations.similarity import (
    AGREE,
    DIFFER,
    KEY_PAIR,
    MANY_VALUES,
    TaggedCosts,
    rank,
    read_tagged_costs,
)
from finops.lake.schema import tag_column
from finops.lib.answers import group_by
from finops.lib.money import ratio
from finops.lib.periods import DateRange

VALUE_ROWS = 3 * MANY_VALUES
"""Maximum number of values by currency that are read of a key."""

ASSOCIATED_ROWS = 5_000
PREFIX = r"^[^-_./: ]{2,}[-_./: ]"
"""The beginning of a resource's name, with its separator."""


STEPS: tuple[Normalisation, ...] = ("trim", "lower")


def _usage(table: Any) -> Any:
    lines = table.filter(table.charge_category == "Usage")
    return lines.mutate(currency=lines.currency.coalesce(NO_CURRENCY))


@dataclass(frozen=True)
class CoverageBuild:
    """Cost of each currency, and of the lines with each of the keys."""

    keys: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = _usage(table)
        tagged = {
            f"tagged{place}": lines.effective_cost.sum(where=lines[tag_column(key)].notnull())
            for place, key in enumerate(self.keys)
        }
        return lines.group_by("currency").aggregate(total=lines.effective_cost.sum(), **tagged)


@dataclass(frozen=True)
class ValuesBuild:
    """Cost by value and currency of each subject, by index; if there are too many values, those with most lines."""

    subjects: tuple[Expression, ...]

    def __call__(self, table: Any) -> Any:
        lines = _usage(table)
        return ibis.union(*(self._of(lines, place, value) for place, value in enumerate(self.subjects)))

    def _of(self, lines: Any, place: int, value: Expression) -> Any:
        rows = lines.select(value=value(lines), currency=lines.currency, cost=lines.effective_cost)
        rows = rows.filter(rows.value.notnull())
        sums = rows.group_by(["value", "currency"]).aggregate(cost=rows.cost.sum(), lines=rows.count())
        return _most_lines(sums, ["value", "currency"], VALUE_ROWS).mutate(
            subject=ibis.literal(place, "int64")
        )


@dataclass(frozen=True)
class KeyPair:
    """Keys of two meanings with mostly the same values, to compare on lines that have both."""

    first_keys: tuple[str, ...]
    second_keys: tuple[str, ...]
    renames: tuple[tuple[str, str], ...]

    def differ(self, lines: Any) -> Any:
        """Return whether the values differ; null if a line does not have both."""
        first, second = (
            apply_map(
                apply_steps(ibis.coalesce(*[lines[tag_column(key)] for key in keys]), STEPS), self.renames
            )
            for keys in (self.first_keys, self.second_keys)
        )
        return first != second


@dataclass(frozen=True)
class AssociationBuild:
    """Cost by subject, dimension, its value, the subject's value there (null: none) and currency.

    For subjects whose keys may have different meanings: the cost of lines with equal and with different values, as a
    dimension.
    """

    subjects: tuple[Expression, ...]
    key_pair: tuple[tuple[int, KeyPair], ...] = ()

    def __call__(self, table: Any) -> Any:
        lines = _usage(table)
        # A rule on resources takes a line by its id as well as by its name, so each says where it belongs.
        name, own = (
            column.lower().re_extract(PREFIX, 0) for column in (lines.resource_name, lines.resource_id)
        )
        tagged_costs = [
            ("account", lines.account_id),
            ("service", lines.service),
            ("resource", name),
            ("resource", own.nullif(name.coalesce(""))),
        ]
        sums = [
            self._of(lines, place, value, dimension, column)
            for place, value in enumerate(self.subjects)
            for dimension, column in tagged_costs
        ]
        for place, pair in self.key_pair:
            agreement = pair.differ(lines).cases((True, DIFFER), (False, AGREE))
            sums.append(self._of(lines, place, lambda _lines: ibis.null("string"), KEY_PAIR, agreement))
        return ibis.union(*sums)

    def _of(self, lines: Any, place: int, value: Expression, dimension: str, column: Any) -> Any:
        rows = lines.select(
            neighbor=column, value=value(lines), currency=lines.currency, cost=lines.effective_cost
        )
        rows = rows.filter(rows.neighbor != "")
        names = ["neighbor", "value", "currency"]
        sums = rows.group_by(names).aggregate(cost=rows.cost.sum(), lines=rows.count())
        return _most_lines(sums, names, ASSOCIATED_ROWS).mutate(
            subject=ibis.literal(place, "int64"), dimension=ibis.literal(dimension)
        )


def _most_lines(sums: Any, names: Sequence[str], count: int) -> Any:
    return sums.order_by([ibis.desc("lines"), *names]).limit(count)


@dataclass(frozen=True)
class CoverageRequest:
    """Lines of a draft's dimension that count: those that one of these rules gives its value, or that have one of
    these values."""

    dimension: Dimension
    rules: tuple[int, ...] = ()
    values: tuple[str, ...] = ()

    def condition(self, lines: Any) -> Any:
        value = self.dimension.value
        assert isinstance(value, CostTagValue)  # noqa: S101 for the type checker
        conditions = []
        if self.rules:
            conditions.append(value.number(lines).isin(list(self.rules)))
        if self.values:
            conditions.append(value(lines).isin(list(self.values)))
        return reduce(and_, conditions)


@dataclass(frozen=True)
class CoveredBuild:
    """Cost of each currency in the account's view, and the part that each draft would cover."""

    drafts: tuple[CoverageRequest, ...]
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_counted(table, self.view.charge_categories))
        amount = lines[COST_COLUMNS[self.view.basis]]
        covered = {
            f"covered{place}": amount.sum(where=draft.condition(lines))
            for place, draft in enumerate(self.drafts)
        }
        return lines.group_by(currency=lines.currency.coalesce(NO_CURRENCY)).aggregate(
            total=amount.sum(), **covered
        )


Rows = list[dict[str, Any]]
ValueCosts = dict[str, dict[str, Decimal]]
"""Cost by value and currency."""


@dataclass(frozen=True)
class LineValue:
    """An expression that gives lines a value, and the tag keys that it reads."""

    value: Expression
    tag_keys: tuple[str, ...]
    key_pair: KeyPair | None = None


def value_of_key(key: str) -> LineValue:
    return LineValue(ColumnExpression(tag_column(key)), (key,))


@dataclass(frozen=True)
class TagCostReader:
    """Reads the cost of some days."""

    cost: CostReader
    days: DateRange

    def _rows(self, build: Any, tag_keys: Iterable[str]) -> Rows:
        rows: Rows = self.cost.run(self.days, build, tag_keys, allow_rollups=False).to_pylist()
        return rows

    def coverage(self, keys: Sequence[str]) -> tuple[list[str], list[KeyCoverage]]:
        """Return the currencies, largest first, and the keys with any cost, largest first."""
        rows = _largest_first(self._rows(CoverageBuild(tuple(keys)), keys)) if keys else []
        currencies = [row["currency"] for row in rows]
        every = [KeyCoverage(key=key, covers=_covers(rows, f"tagged{at}")) for at, key in enumerate(keys)]

        def key_rank(each: KeyCoverage) -> tuple[tuple[Decimal, ...], str]:
            amounts = {cover.currency: cover.amount for cover in each.covers}
            return rank(amounts, currencies), each.key

        return currencies, sorted((each for each in every if each.covers), key=key_rank)

    def values(self, subjects: Mapping[str, LineValue]) -> dict[str, ValueCosts]:
        """Return the cost of the values of each subject, without subjects with too many values to read."""
        if not subjects:
            return {}
        build = ValuesBuild(tuple(each.value for each in subjects.values()))
        rows = self._rows(build, [key for each in subjects.values() for key in each.tag_keys])
        by_subject: dict[str, ValueCosts] = {}
        for place, name in enumerate(subjects):
            own = [row for row in rows if row["subject"] == place]
            costs = by_subject.setdefault(name, {})
            for row in own if len(own) < VALUE_ROWS else []:
                costs.setdefault(row["value"], {})[row["currency"]] = row["cost"] or Decimal(0)
        return by_subject

    def tagged_costs(self, subjects: Sequence[LineValue]) -> list[dict[tuple[str, str], TaggedCosts]]:
        """Return the values of each subject by other dimensions of the lines, without dimensions with too many values
        to read."""
        if not subjects:
            return []
        pairs = [(place, each.key_pair) for place, each in enumerate(subjects) if each.key_pair]
        build = AssociationBuild(tuple(each.value for each in subjects), tuple(pairs))
        keys = [key for each in subjects for key in each.tag_keys]
        rows = self._rows(
            build, [*keys, *[key for _, pair in pairs for key in (*pair.first_keys, *pair.second_keys)]]
        )
        parts = group_by(rows, lambda row: (row["subject"], row["dimension"]))
        return [
            read_tagged_costs(
                (dimension, row["neighbor"], row["value"], row["currency"], row["cost"] or Decimal(0))
                for (subject, dimension), part in parts.items()
                if subject == place and len(part) < ASSOCIATED_ROWS
                for row in part
            )
            for place in range(len(subjects))
        ]

    def coverage_of_drafts(self, drafts: Sequence[CoverageRequest]) -> list[list[TagCover]]:
        """Return the coverage of each draft in the account's cost view, the largest currency first."""
        if not drafts:
            return []
        build = CoveredBuild(tuple(drafts), self.cost.sources.view)
        rows = _largest_first(self._rows(build, [key for each in drafts for key in each.dimension.tag_keys]))
        return [_covers(rows, f"covered{place}") for place in range(len(drafts))]


def _largest_first(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (-(row["total"] or 0), row["currency"]))


def _covers(rows: Rows, name: str) -> list[TagCover]:
    return [
        TagCover(
            amount=row[name], currency=row["currency"], share=ratio(row[name], row["total"] or Decimal(0))
        )
        for row in rows
        if row[name]
    ]

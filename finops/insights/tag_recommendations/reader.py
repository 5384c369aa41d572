"""The lake's sums behind tag recommendations, as typed values. One lake query each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.costs.dimensions import Column, Dimension, Expression
from finops.costs.queries.sources import Sources
from finops.insights.tag_recommendations.answers import KeyCoverage, TagCover
from finops.insights.tag_recommendations.associations import TaggedCosts, read_tagged_costs
from finops.insights.tag_recommendations.lake import (
    ASSOCIATED_ROWS,
    VALUE_ROWS,
    AssociationBuild,
    CoverageBuild,
    CoverageRequest,
    CoveredBuild,
    KeyPair,
    ValuesBuild,
)
from finops.insights.tag_recommendations.similarity import rank
from finops.lake.engine import engine
from finops.lake.schema import Kind, tag_column
from finops.lib.money import ratio
from finops.lib.periods import DateRange

Rows = list[dict[str, Any]]
ValueCosts = dict[str, dict[str, Decimal]]
"""By value and currency."""


@dataclass(frozen=True)
class Subject:
    """Something that gives lines a value, and the tag keys that it reads."""

    value: Expression
    tag_keys: tuple[str, ...]
    key_pair: KeyPair | None = None


def of_key(key: str) -> Subject:
    return Subject(Column(tag_column(key)), (key,))


@dataclass(frozen=True)
class Reader:
    """The cost of some days."""

    account: Account
    sources: Sources
    days: DateRange
    deadline: float | None = None

    def coverage(self, keys: Sequence[str]) -> tuple[list[str], list[KeyCoverage]]:
        """The currencies, the largest first, and the keys that any cost has, most of it first."""
        rows = _largest_first(self._run(CoverageBuild(tuple(keys)), keys)) if keys else []
        currencies = [row["currency"] for row in rows]
        rows_found = [
            KeyCoverage(key=key, covers=_covers(rows, f"tagged{place}")) for place, key in enumerate(keys)
        ]
        tagged = [each for each in rows_found if each.covers]
        return currencies, sorted(
            tagged,
            key=lambda each: (
                rank({cover.currency: cover.amount for cover in each.covers}, currencies),
                each.key,
            ),
        )

    def values(self, subjects: Mapping[str, Subject]) -> dict[str, ValueCosts]:
        """Of each subject, what its values cost; nothing of those with too many to read."""
        if not subjects:
            return {}
        build = ValuesBuild(tuple(each.value for each in subjects.values()))
        rows = self._run(build, [key for each in subjects.values() for key in each.tag_keys])
        by_subject: dict[str, ValueCosts] = {}
        for place, name in enumerate(subjects):
            own = [row for row in rows if row["subject"] == place]
            costs = by_subject.setdefault(name, {})
            for row in own if len(own) < VALUE_ROWS else []:
                costs.setdefault(row["value"], {})[row["currency"]] = row["cost"] or Decimal(0)
        return by_subject

    def tagged_costs(self, subjects: Sequence[Subject]) -> list[dict[tuple[str, str], TaggedCosts]]:
        """Of each subject, its values by what else lines have; nothing of dimensions with too many to read."""
        if not subjects:
            return []
        pairs = [(place, each.key_pair) for place, each in enumerate(subjects) if each.key_pair]
        build = AssociationBuild(tuple(each.value for each in subjects), tuple(pairs))
        keys = [key for each in subjects for key in each.tag_keys]
        rows = self._run(build, [*keys, *[key for _, pair in pairs for key in (*pair.ones, *pair.others)]])
        parts: dict[tuple[int, str], Rows] = {}
        for row in rows:
            parts.setdefault((row["subject"], row["dimension"]), []).append(row)
        return [
            read_tagged_costs(
                (dimension, row["neighbor"], row["value"], row["currency"], row["cost"] or Decimal(0))
                for (subject, dimension), part in parts.items()
                if subject == place and len(part) < ASSOCIATED_ROWS
                for row in part
            )
            for place in range(len(subjects))
        ]

    def coverage_of_drafts(self, drafts: Sequence[tuple[Dimension, CoverageRequest]]) -> list[list[TagCover]]:
        """What each would cover, in the account's cost view, the largest currency first."""
        if not drafts:
            return []
        build = CoveredBuild(tuple(covering for _, covering in drafts), self.sources.view)
        rows = _largest_first(self._run(build, [key for each, _ in drafts for key in each.tag_keys]))
        return [_covers(rows, f"covered{place}") for place in range(len(drafts))]

    def _run(self, build: Any, tag_keys: Iterable[str]) -> Rows:
        table = engine.run(
            self.account,
            Kind.COST,
            self.days.start,
            self.days.end,
            build,
            tag_keys=list(dict.fromkeys(tag_keys)),
            manifest=self.sources.manifest,
            deadline=self.deadline,
        )
        rows: Rows = table.to_pylist()
        return rows


def _largest_first(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (-(row["total"] or 0), row["currency"]))


def _covers(rows: Rows, name: str) -> list[TagCover]:
    return [
        TagCover(
            amount=row[name],
            currency=row["currency"],
            share=ratio(row[name], row["total"] or Decimal(0)),
        )
        for row in rows
        if row[name]
    ]

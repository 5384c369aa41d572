"""One resource from its cost lines: its type, tags and commitments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

from accounts.models import Account
from finops.costs.dated_names import strip_date_prefix, with_date_prefix
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend import Question, resolve_query
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.costs.spend_query import SpendQuery
from finops.lake.engine import engine
from finops.lake.schema import Kind, tag_column

MAX_TAGS: Final = 200
"""The maximum of tag keys that are read, the account's first."""

FACTS: Final = {
    "resource_name": "Name",
    "resource_type": "Type",
    "provider": "Provider",
    "service": "Service",
    "region": "Region",
    "account_name": "Account",
}


@dataclass(frozen=True)
class CoveringCommitment:
    """A commitment that covers usage of the resource, and the amortized cost of that usage."""

    id: str
    name: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class ResourceFacts:
    """`facts` are title and text, `tags` key and value: each from the newest line that has one."""

    facts: Sequence[tuple[str, str]]
    tags: Sequence[tuple[str, str]]
    commitments: Sequence[CoveringCommitment]


@dataclass(frozen=True)
class ResourceFactsBuild:
    """The newest value of each text and tag, prefixed with its day, by commitment (null without one). Equal for equal
    questions."""

    filters: tuple[ResolvedFilter, ...]
    tag_keys: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(reduce(and_, all_of(table, self.filters)))
        lines = lines.mutate(currency=lines.currency.coalesce(NO_CURRENCY))
        columns = {name: lines[name] for name in (*FACTS, "commitment_name")}
        columns |= {f"tag{place}": lines[tag_column(key)] for place, key in enumerate(self.tag_keys)}
        texts = {name: with_date_prefix(lines, column).max() for name, column in columns.items()}
        return lines.group_by(["commitment_id", "currency"]).aggregate(
            amount=lines.effective_cost.sum(), **texts
        )


def describe_resource(
    account: Account, query: SpendQuery, sources: Sources, *, deadline: float | None = None
) -> tuple[Question, ResourceFacts]:
    """Describe the resource that a question's filters select. One lake query. Raises UserError as `query_spend`."""
    question = resolve_query(account, query, sources)
    keys = tuple(question.context.tag_keys)[:MAX_TAGS]
    build = ResourceFactsBuild(question.filters, keys)
    of_filters = [key for item in question.filters for key in item.dimension.tag_keys]
    table = engine.run(
        account,
        Kind.COST,
        question.days.start,
        question.days.end,
        build,
        tag_keys=list(dict.fromkeys([*keys, *of_filters])),
        manifest=sources.manifest,
        deadline=deadline,
    )
    rows = table.to_pylist()
    texts = [(title, _newest(rows, name)) for name, title in FACTS.items()]
    tags = [(key, _newest(rows, f"tag{place}")) for place, key in enumerate(keys)]
    return question, ResourceFacts(
        facts=[(title, text) for title, text in texts if text],
        tags=[(key, value) for key, value in tags if value],
        commitments=_commitments(rows),
    )


def _newest(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the value on the newest line that has one; of several of one day the last by name."""
    return strip_date_prefix(max((row[name] for row in rows if strip_date_prefix(row[name])), default=""))


def _commitments(rows: Sequence[Mapping[str, Any]]) -> list[CoveringCommitment]:
    commitments = [
        CoveringCommitment(
            row["commitment_id"],
            strip_date_prefix(row["commitment_name"]) or row["commitment_id"],
            row["amount"],
            row["currency"],
        )
        for row in rows
        if row["commitment_id"]
    ]
    return sorted(commitments, key=lambda each: (each.currency, -each.amount, each.id))

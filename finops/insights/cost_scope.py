"""Cost that an insight reads: all of an account's, or a part by team, source, account and provider.

Each of these is a filter as in `querySpend`: aliases and names are accepted. A value that no cost line has is refused
with the nearest values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Meta

from accounts.models import Account
from finops.allocation.cost_tags.resolution import context_of
from finops.costs.dated_names import with_date_prefix
from finops.costs.dimensions import Dimension, DimensionContext
from finops.costs.filters import ResolvedFilter, resolve_filters
from finops.costs.queries.context import currencies_of
from finops.costs.queries.filter_values import FilterFindings, look_up
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend import Question, plan_of
from finops.costs.queries.spend_lake import SpendPlan
from finops.costs.spend_query import Filter
from finops.lake.engine import engine
from finops.lake.engine.conversion import display_currency
from finops.lake.schema import Kind
from finops.lib.errors import unknown_value
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, truncate

NAME_LENGTH = 60
SCOPES = {"team": "team", "cost_source": "source", "account": "account", "provider": "provider"}
"""Dimensions by the names of arguments and of a page's parameters."""


@dataclass(frozen=True)
class CostReader:
    """Reads the cost lines of an account. `deadline`: a value of `time.monotonic()`, None for the lake's own."""

    account: Account
    sources: Sources
    deadline: float | None = None

    @cached_property
    def context(self) -> DimensionContext:
        return context_of(self.account, self.sources)

    def run(
        self, days: DateRange, build: Any, tag_keys: Iterable[str] = (), *, allow_rollups: bool = True
    ) -> pa.Table:
        """Return the result of `build` over the lines of the days. One lake query, whose result is cached while no
        file changes.

        `allow_rollups` as in `engine.run`. Raises LakeTimeout, LakeTooLarge or LakeUnavailable.
        """
        return engine.run(
            self.account,
            Kind.COST,
            days.start,
            days.end,
            build,
            tag_keys=list(dict.fromkeys(tag_keys)),
            allow_rollups=allow_rollups,
            manifest=self.sources.manifest,
            deadline=self.deadline,
        )

    def look_up(self, question: Question) -> FilterFindings:
        """Resolve the filters of a query against the cost lines. One or two lake queries, none without filters.

        Raises UserError for a value that no line has.
        """
        if not question.filters:
            return FilterFindings()
        return look_up(self.account, plan_of(question), self.deadline, self.sources.manifest)


class CostScope(msgspec.Struct, frozen=True, kw_only=True):
    """A scope of cost. All four empty: the whole account."""

    __doc__ = None
    team: Annotated[str, Meta(description="Name.")] = ""
    cost_source: Annotated[str, Meta(description="Name.")] = ""
    account: Annotated[str, Meta(description="ID or name.")] = ""
    provider: Annotated[str, Meta(description="Such as AWS.")] = ""

    @property
    def scope_values(self) -> dict[str, str]:
        """Filtered dimensions with their values."""
        return {SCOPES[name]: value for name, value in self.scope_params.items()}

    @property
    def scope_params(self) -> dict[str, str]:
        """The fields that are set, as parameters of a page's URL."""
        return {name: value for name in SCOPES if (value := getattr(self, name).strip())}

    @property
    def scope_text(self) -> str:
        """Return ` of team 'Core' and provider 'AWS'`; empty for the whole account."""
        parts = [f"{name} {truncate(value, NAME_LENGTH)!r}" for name, value in self.scope_values.items()]
        return f" of {join_with_and(parts)}" if parts else ""


WHOLE_ACCOUNT = CostScope()


def dimension_columns(lines: Any, dimensions: Sequence[Dimension]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `key0`, `key1` …: the value of each dimension; `label0` …: its dated name, if it has names."""
    keys = {f"key{at}": each.value(lines).coalesce(each.absent) for at, each in enumerate(dimensions)}
    labels = {
        f"label{at}": with_date_prefix(lines, each.label(lines))
        for at, each in enumerate(dimensions)
        if each.label is not None
    }
    return keys, labels


def scope_from_params(params: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a CostScope in a page's URL."""
    return {name: params[name] for name in SCOPES if params.get(name)}


def check_currency(reader: CostReader, currency: str) -> None:
    """Check a currency. Raises UserError, with the account's currencies, for one that no cost is in; none, the
    display currency, and an account without cost pass. One lake query."""
    code = currency.strip().upper()
    code = "" if code == display_currency() else code
    currencies = currencies_of(reader.account, reader.sources) if code else []
    if currencies and code not in currencies:
        raise unknown_value("currency", code, currencies)


def resolve_scope(reader: CostReader, scope: CostScope) -> tuple[tuple[ResolvedFilter, ...], list[str]]:
    """Return the scope as filters of cost lines, and warnings about accounts under an earlier name. One lake query,
    none for the whole account. Raises UserError for a value that no line has: "no anomalies" for it would mislead."""
    filters = [Filter(dimension=name, values=[value]) for name, value in scope.scope_values.items()]
    if not filters:
        return (), []
    resolved = tuple(resolve_filters(reader.context, filters))
    first, last = reader.sources.coverage.first_day, reader.sources.coverage.last_day
    if first is None or last is None:
        return resolved, []
    plan = SpendPlan(
        days=DateRange(first, last),
        dimensions=(),
        filters=resolved,
        basis="amortized",
        categories=(),
        granularity="none",
        limit=1,
    )
    values = look_up(reader.account, plan, reader.deadline, reader.sources.manifest, refuse_all=True)
    return resolved, values.warnings

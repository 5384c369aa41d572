"""Resolves the filters of a limit into the condition that the lake adds to every statement.

A filter that cannot be resolved denies everything: a filter by a deleted team must not reveal the team's cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import msgspec

from accounts.models import Account
from finops.allocation.queries.teams import team_names
from finops.cost_access.models import CostAccessLimit
from finops.costs.dimensions import DimensionContext
from finops.costs.filters import ResolvedFilter, all_of, resolve_filters
from finops.costs.queries.sources import load_sources
from finops.costs.spend_query import CostFilter
from finops.lib.cost_access import CostLimit, cost_access
from finops.lib.errors import UserError
from finops.lib.sentences import quote

Alternatives = Sequence[Sequence[CostFilter]]
Stored = list[list[dict[str, Any]]]
"""The same as they are stored: dimension, op, values."""
_NAMED = ("team", "source")
"""Dimensions whose values are rows of the account: a value in a negated filter must exist."""


@dataclass(frozen=True)
class WithinLimit:
    """The condition that a line matches, for each limit, all filters of at least one alternative."""

    limits: tuple[tuple[tuple[ResolvedFilter, ...], ...], ...]

    def __call__(self, table: Any) -> Any:
        return reduce(and_, (self._any(table, alternatives) for alternatives in self.limits))

    def _any(self, table: Any, alternatives: Sequence[Sequence[ResolvedFilter]]) -> Any:
        each = [reduce(and_, all_of(table, list(filters))).fill_null(False) for filters in alternatives]
        return reduce(or_, each)


def alternatives_of(limit: CostAccessLimit) -> Alternatives:
    """The filters of a stored limit."""
    return msgspec.convert(limit.alternatives, list[list[CostFilter]])


def is_narrower(filters: Stored, before: Stored) -> bool:
    """Whether stored filters certainly match no line that the earlier ones do not, by the filters alone: each alternative
    has every filter of an earlier one, with the same values or a part of them. False if that is not certain."""
    return all(any(_is_within(each, earlier) for earlier in before) for each in filters)


def _is_within(filters: list[dict[str, Any]], earlier: list[dict[str, Any]]) -> bool:
    return all(any(_implies(item, other) for item in filters) for other in earlier)


def _implies(item: dict[str, Any], other: dict[str, Any]) -> bool:
    if (item["dimension"], item["op"]) != (other["dimension"], other["op"]):
        return False
    values, other_values = set(item["values"] or ()), set(other["values"] or ())
    return values >= other_values if item["op"].startswith("not_") else values <= other_values


def resolve_limits(account: Account, limits: Sequence[CostAccessLimit]) -> CostLimit | None:
    """The lines within all of these limits, None without a limit. The account is in scope.

    Two to four queries of PostgreSQL; a cached lake query for a filter by account names. Raises UserError if a limit
    cannot be applied, without naming its filters, which the reader may not know.
    """
    if not limits:
        return None
    try:
        resolved = resolve_alternatives(account, [alternatives_of(limit) for limit in limits])
    except (UserError, msgspec.ValidationError) as problem:
        names = " and ".join(quote(limit.name) for limit in limits)
        raise UserError(
            f"Your cost access is limited to {names}, which cannot be applied. Ask an admin to check it."
        ) from problem
    return _cost_limit(" and ".join(limit.name for limit in limits), resolved)


@contextmanager
def access_of(account: Account, limits: Sequence[CostAccessLimit]) -> Iterator[None]:
    """Limit the cost inside the block as for a reader with these limits; the whole account without one. Cost and errors
    are those of `resolve_limits`."""
    with cost_access(resolve_limits(account, limits)):
        yield


def limit_of_alternatives(account: Account, alternatives: Alternatives) -> CostLimit:
    """The limit of filters that are not stored. Cost and errors are those of `resolve_alternatives`."""
    return _cost_limit("preview", resolve_alternatives(account, [alternatives]))


def _cost_limit(name: str, resolved: tuple[tuple[tuple[ResolvedFilter, ...], ...], ...]) -> CostLimit:
    every = [item for alternatives in resolved for filters in alternatives for item in filters]
    keys = dict.fromkeys(key for item in every for key in item.dimension.tag_keys)
    return CostLimit(name, WithinLimit(resolved), tuple(keys), _whole_values(resolved))


def _whole_values(resolved: tuple[tuple[tuple[ResolvedFilter, ...], ...], ...]) -> frozenset[tuple[str, str]]:
    """For each limit, the values of alternatives with a single filter `in`; only values that all limits have."""
    of_limits = [
        {
            (item.dimension.name, value.strip().lower())
            for item, *more_filters in alternatives
            if item.op == "in" and not more_filters
            for value in item.values
        }
        for alternatives in resolved
    ]
    return frozenset(set.intersection(*of_limits))


def resolve_alternatives(
    account: Account, limits: Sequence[Alternatives]
) -> tuple[tuple[tuple[ResolvedFilter, ...], ...], ...]:
    """Resolve the dimensions of filters over the whole account. Raises UserError that names a filter that cannot be
    resolved."""
    with cost_access(None):
        context = load_sources(account).context(account)
        resolved = tuple(
            tuple(tuple(resolve_filters(context, filters)) for filters in alternatives if filters)
            for alternatives in limits
        )
        for alternatives in resolved:
            if not alternatives:
                raise UserError("Add a filter.", field="filters")
            for filters in alternatives:
                for item in filters:
                    _check_names(context, item)
    return resolved


def _check_names(context: DimensionContext, item: ResolvedFilter) -> None:
    """Raises UserError for teams and sources that do not exist."""
    if item.dimension.name not in _NAMED:
        return
    if item.dimension.name == "team" and item.dimension.warnings:
        raise UserError(item.dimension.warnings[0], field="filters")
    if item.op not in ("in", "not_in"):
        return
    names = _names(context, item.dimension.name)
    for value in item.values:
        if value.strip().lower() not in {*names, item.dimension.absent.lower()}:
            raise UserError(
                f"filters: there is no {item.dimension.name} {quote(value)}.", field="filters", value=value
            )


def _names(context: DimensionContext, dimension: str) -> set[str]:
    if dimension == "team":
        return {name.lower() for name in team_names(context.account)}
    return {name.lower() for name in context.source_names.values()}

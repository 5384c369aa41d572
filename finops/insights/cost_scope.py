"""Part of an account's cost, by team, source, account and provider: what the lists of anomalies and savings are narrowed to.

Each is a filter as in `querySpend`: aliases and names count. A value that no cost line has is refused with the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from accounts.models import Account
from finops.costs.dimensions import DimensionContext
from finops.costs.filters import ResolvedFilter, resolve_filters
from finops.costs.queries.context import currencies_of
from finops.costs.queries.filter_values import look_up
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_lake import SpendPlan
from finops.costs.spend_query import Filter
from finops.lib.errors import unknown_value
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, truncate

NAME_LENGTH = 60


class CostScope(msgspec.Struct, frozen=True, kw_only=True):
    """All four empty: the whole account."""

    __doc__ = None
    team: Annotated[str, Meta(description="Its name.")] = ""
    source: Annotated[str, Meta(description="Its name.")] = ""
    account: Annotated[str, Meta(description="Id or name.")] = ""
    provider: Annotated[str, Meta(description="Such as AWS.")] = ""

    @property
    def scope_values(self) -> dict[str, str]:
        """The dimensions that narrow, each with its value."""
        values = {
            "team": self.team,
            "source": self.source,
            "account": self.account,
            "provider": self.provider,
        }
        return {name: value.strip() for name, value in values.items() if value.strip()}

    @property
    def scope_text(self) -> str:
        """` of team 'Core' and provider 'AWS'`; empty for the whole account."""
        parts = [f"{name} {truncate(value, NAME_LENGTH)!r}" for name, value in self.scope_values.items()]
        return f" of {join_with_and(parts)}" if parts else ""


WHOLE_ACCOUNT = CostScope()


def scope_from_params(params: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a CostScope that a page's URL names."""
    return {name: params[name] for name in ("team", "source", "account", "provider") if params.get(name)}


def check_currency(account: Account, currency: str, sources: Sources) -> None:
    """Raises UserError, with the currencies there are, for one that no cost of the account is in; nothing for none, and
    for an account without cost. One lake query, which is kept."""
    code = currency.strip().upper()
    currencies = currencies_of(account, sources) if code else []
    if currencies and code not in currencies:
        raise unknown_value("currency", code, currencies)


def resolve_scope(
    account: Account, sources: Sources, scope: CostScope, *, deadline: float | None = None
) -> tuple[tuple[ResolvedFilter, ...], list[str]]:
    """The scope as filters of cost lines, and sentences about accounts under an older name. One lake query, none for the
    whole account. Raises UserError for a value that no line has: "no anomalies of" it would read as good news."""
    if not scope.scope_values:
        return (), []
    context = DimensionContext(account, sources.view.product_key, sources.names, sources.manifest)
    filters = tuple(
        resolve_filters(
            context, [Filter(dimension=name, values=[value]) for name, value in scope.scope_values.items()]
        )
    )
    first, last = sources.coverage.first_day, sources.coverage.last_day
    if first is None or last is None:
        return filters, []
    plan = SpendPlan(
        days=DateRange(first, last),
        dimensions=(),
        filters=filters,
        basis="amortized",
        categories=(),
        granularity="none",
        top=1,
    )
    return filters, look_up(account, plan, deadline, sources.manifest, refuse_all=True).warnings

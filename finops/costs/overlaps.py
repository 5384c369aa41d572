"""Whether two sources hold the same cost: lake queries for equal lines, and the evaluation of their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

import ibis

from finops.lib.money import exact_sum, ratio

LIKELY_SHARE: Final = Decimal("0.1")
"""The minimum share of the smaller source's cost of the month in that currency; a smaller overlap is not reported."""
FEWEST: Final = 3
"""The minimum of equal days and resources, unless half of the smaller source, with an account or a resource."""
MOST_ACCOUNTS: Final = 200
"""The maximum of sub-accounts in the second query's filter; above it, all lines are read."""

_CENT: Final = 2


@dataclass(frozen=True)
class MonthPart:
    """The cost of a source in a month, by billing account, sub-account and similar keys."""

    source: str
    provider: str | None
    billing_account_id: str | None
    account_id: str | None
    service: str | None
    currency: str
    billed: Decimal

    @property
    def key(self) -> tuple[str | None, ...]:
        return self.provider, self.account_id, self.service, self.currency


@dataclass(frozen=True)
class PartsBuild:
    """The billed cost of a billing month by source and account keys. Compared by value, so that it compiles once."""

    month: date

    def __call__(self, table: Any) -> Any:
        lines = table.filter(table.billing_period == ibis.literal(self.month))
        keys = ["source", "provider", "billing_account_id", "account_id", "service", "currency"]
        return lines.group_by(keys).aggregate(billed=lines.billed_cost.sum())


@dataclass(frozen=True)
class SharedCostBuild:
    """The cost that two sources share in a billing month: days of a resource (of a service, for lines without one)
    with the same billed cost to the cent."""

    month: date
    source: str
    other: str
    accounts: tuple[str, ...] | None
    """Sub-accounts to read; None for all."""

    def __call__(self, table: Any) -> Any:
        lines = table.filter(
            (table.billing_period == ibis.literal(self.month)) & table.source.isin([self.source, self.other])
        )
        if self.accounts is not None:
            lines = lines.filter(lines.account_id.isin(self.accounts))
        days = lines.group_by(
            ["charge_date", "provider", "account_id", "service", "resource_id", "currency"]
        ).aggregate(
            mine=lines.billed_cost.sum(where=lines.source == self.source),
            theirs=lines.billed_cost.sum(where=lines.source == self.other),
        )
        same = (days.mine == days.theirs) | (days.mine.round(_CENT) == days.theirs.round(_CENT))
        shared = days.filter(same & (days.mine.round(_CENT) != 0))
        named = shared.account_id.notnull() | shared.resource_id.notnull()
        return shared.group_by("currency").aggregate(
            amount=shared.mine.sum(), groups=shared.count(), named=named.cast("int64").sum()
        )


@dataclass(frozen=True)
class SharedCost:
    """The cost that two sources share in one currency."""

    currency: str
    amount: Decimal
    groups: int
    named: int


def sources_sharing_accounts(parts: Iterable[MonthPart], source: str) -> dict[str, set[str | None]]:
    """Return other sources with cost of the same provider, sub-account and service, and those sub-accounts.

    Sources that name different billing accounts are left out.
    """
    own_accounts: dict[tuple[str | None, ...], set[str | None]] = defaultdict(set)
    parts = [part for part in parts if part.billed]
    for part in parts:
        if part.source == source:
            own_accounts[part.key].add(part.billing_account_id)
    accounts_by_source: dict[str, set[str | None]] = defaultdict(set)
    for part in parts:
        billing_accounts = own_accounts.get(part.key) if part.source != source else None
        if billing_accounts and (
            part.billing_account_id in billing_accounts | {None} or None in billing_accounts
        ):
            accounts_by_source[part.source].add(part.account_id)
    return dict(accounts_by_source)


def accounts_of(shared: Collection[str | None]) -> tuple[str, ...] | None:
    """Return the sub-accounts that `SharedCostBuild` filters by."""
    accounts = sorted(account for account in shared if account is not None)
    return None if None in shared or len(accounts) > MOST_ACCOUNTS else tuple(accounts)


def overlap_share(alike: SharedCost, parts: Iterable[MonthPart], source: str, other: str) -> Decimal | None:
    """Return the shared part of the smaller source if the lines are likely the same; else None."""
    sizes: dict[str, Decimal] = defaultdict(Decimal)
    for part in parts:
        if part.currency == alike.currency:
            sizes[part.source] = exact_sum([sizes[part.source], part.billed])
    smaller = min(abs(sizes[source]), abs(sizes[other]))
    if not smaller:
        return None
    share = min(Decimal(1), ratio(abs(alike.amount), smaller) or Decimal(0))
    few = alike.groups < FEWEST and not (alike.named and share >= Decimal("0.5"))
    return None if few or share < LIKELY_SHARE else share

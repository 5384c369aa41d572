"""What a rule finds, before rules are weighed against each other. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal

import msgspec

from finops.costs.dated_names import strip_date_prefix
from finops.insights.savings.rules import UNUSED
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange

WINDOW_DAYS = 30
"""A month of all amounts here: the last thirty days that every source has delivered."""

MINIMUM = Decimal(1)
"""Savings below one unit of their currency a month are not listed."""

_WIDE = Context(prec=38, rounding=ROUND_HALF_EVEN)


def part(amount: Decimal, share: Decimal) -> Decimal:
    """amount * share in 38 digits."""
    return _WIDE.multiply(amount, share)


def each_day(days: DateRange) -> list[date]:
    return [days.start + timedelta(days=index) for index in range(days.days)]


def names_of(resource: str) -> frozenset[str]:
    """What bills may call a resource: its ARN, and the id at the ARN's end."""
    if not resource.startswith("arn:"):
        return frozenset([resource] if resource else [])
    return frozenset([resource, resource.rsplit("/", 1)[-1].rsplit(":", 1)[-1]])


def label_of(names: Iterable[str], noun: str) -> str:
    """What a group is called by the names of its lines: the name, or `3 services` where there are several."""
    distinct = set(names) - {""}
    return distinct.pop() if len(distinct) == 1 else f"{len(distinct)} {noun}" if distinct else ""


def account_label(accounts: Iterable[tuple[str, str]]) -> str:
    """The same of accounts by id and dated name: an account that was renamed is one, under its newest name."""
    named = [each for each in accounts if any(each)]
    ids = {account for account, _ in named}
    return strip_date_prefix(max(name for _, name in named)) if len(ids) == 1 else label_of(ids, "accounts")


@dataclass(frozen=True)
class LineKey:
    """Which lines of the bills: those of one resource and usage type."""

    source: str
    currency: str
    account: str
    region: str
    usage_type: str
    resource: str


@dataclass(frozen=True)
class Piece:
    """Evidence: lines that add up to `cost` in the window. `saving` None: not provable from the bills. `whole`: all lines
    of the resource, whatever their usage type; the amounts are then somebody else's, who did not look at the bills."""

    line: LineKey
    name: str
    cost: Decimal
    saving: Decimal | None
    note: str
    whole: bool = False


class Scope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose cost is compared after acting: resources, a commitment, or the on-demand compute of a source."""

    source: str
    currency: str
    resources: list[str] = []
    commitment: str = ""
    compute: bool = False


@dataclass(frozen=True)
class Candidate:
    """A recommendation of one rule. `unit` tells it from others of its rule in the source and currency.

    `reason`: why there is no saving. `service` and `account_name` are of all lines of it, `3 services` where there are
    several; `services` are then their names."""

    rule: str
    unit: tuple[str, ...]
    title: str
    advice: str
    formula: str
    provider: str
    service: str
    account_name: str
    pieces: Sequence[Piece]
    reason: str = ""
    commitment: str = ""
    compute: bool = False
    services: frozenset[str] = frozenset()
    instead_of: frozenset[str] = frozenset()
    lowered: str = ""
    effort: str = ""
    risk: str = ""
    risk_reason: str = ""

    @property
    def source(self) -> str:
        return self.pieces[0].line.source

    @property
    def currency(self) -> str:
        return self.pieces[0].line.currency

    @property
    def key(self) -> str:
        """Stable: the same rule, source, scope and currency have it again, whatever the amounts."""
        text = "\x1f".join([self.rule, self.source, self.currency, *self.unit])
        return f"sav_{hashlib.blake2s(text.encode(), digest_size=8).hexdigest()}"

    @property
    def cost(self) -> Decimal:
        return exact_sum(piece.cost for piece in self.pieces)

    @property
    def saving(self) -> Decimal | None:
        savings = [piece.saving for piece in self.pieces]
        if any(saving is None for saving in savings):
            return None
        return exact_sum(saving or Decimal(0) for saving in savings)

    @property
    def waste(self) -> Decimal | None:
        """What is paid for and not used, which nothing but use, sale or exchange brings back; None for other rules."""
        return self.cost if self.rule == UNUSED.name else None

    @property
    def is_worth_listing(self) -> bool:
        return (self.cost if self.saving is None else self.saving) >= MINIMUM

    @property
    def scope(self) -> Scope:
        resources = {name for piece in self.pieces for name in names_of(piece.line.resource)}
        return Scope(
            source=self.source,
            currency=self.currency,
            resources=[] if self.commitment or self.compute else sorted(resources),
            commitment=self.commitment,
            compute=self.compute,
        )

    def with_pieces(self, pieces: Sequence[Piece], lowered: str) -> Candidate:
        return replace(self, pieces=pieces, lowered=lowered)

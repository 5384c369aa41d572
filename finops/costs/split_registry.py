"""Shared-cost splits as the spend queries use them. The app that stores splits registers in `splitters`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from accounts.models import Account
from finops.costs.answers import AppliedSplit, MoneyAmount
from finops.costs.dimensions import DimensionContext
from finops.lake.storage.manifest import Manifest
from finops.lib.registry import Registry

if TYPE_CHECKING:
    # Imported here, because the queries import this module.
    from finops.costs.queries.spend_lake import SpendPlan, SpendSum


@dataclass(frozen=True)
class ReceivedAmount:
    """The amount that one target received from a split."""

    target: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class SplitEffect:
    """The effect of one split on the requested days; see `AppliedSplit`. `received` is by target and currency."""

    split_id: int
    applied: AppliedSplit
    received: Sequence[ReceivedAmount] = ()


@dataclass(frozen=True)
class SplitResult:
    """What the splits of a plan, or spreading its charges, move. `moves` are added to the plan's sums and add up to 0
    unless a filter separates them; `receiving_values` are the values that received cost, by dimension."""

    moves: list[SpendSum] = field(default_factory=list)
    effects: list[SplitEffect] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    receiving_values: Mapping[str, Collection[str]] = field(default_factory=dict)
    spread: Sequence[MoneyAmount] = ()

    @property
    def applied_splits(self) -> list[AppliedSplit]:
        """The splits that had cost to allocate."""
        splits = [effect.applied for effect in self.effects]
        return [each for each in splits if each.moved or each.stayed]


@dataclass(frozen=True)
class SplitQuestion:
    """A plan of sums, and the context to query the lake."""

    account: Account
    plan: SpendPlan
    context: DimensionContext
    deadline: float | None
    manifest: Manifest | None


splitters: Registry[Callable[[SplitQuestion], SplitResult]] = Registry("splitter")
"""Only the entry `splits` is used."""


def run_splits(question: SplitQuestion) -> SplitResult:
    """Return what splits move in the sums of this plan; an empty result if no app has splits."""
    splitter = splitters.get("splits")
    return splitter(question) if splitter else SplitResult()


def is_splittable(dimension: str) -> bool:
    """Return whether cost can be allocated among the dimension's values: of people and products, not of a bill."""
    return dimension in ("team", "product", "customer", "account") or dimension.startswith(
        ("tag:", "cost_tag:")
    )


def amounts_of(sums: dict[str, Decimal]) -> list[MoneyAmount]:
    """Return amounts by currency, without zeros."""
    return [MoneyAmount(amount=sums[name], currency=name) for name in sorted(sums) if sums[name]]

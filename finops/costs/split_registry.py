"""Shared-cost splits as the spend queries see them: the app that stores them adds to `splitters`."""

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
    # The queries import this module.
    from finops.costs.queries.spend_lake import SpendPlan, SpendSum


@dataclass(frozen=True)
class ReceivedAmount:
    """What one target got from a split."""

    target: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class SplitEffect:
    """What one split did to the asked days; see `AppliedSplit`. `received` is by target and currency, as named."""

    split_id: int
    applied: AppliedSplit
    received: Sequence[ReceivedAmount] = ()


@dataclass(frozen=True)
class SplitResult:
    """What the splits of a plan do, or spreading its charges. `moves` are added to the plan's sums and add up to 0
    where no filter parts them; `brought` are the values that got cost, by dimension."""

    moves: list[SpendSum] = field(default_factory=list)
    effects: list[SplitEffect] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    brought: Mapping[str, Collection[str]] = field(default_factory=dict)
    spread: Sequence[MoneyAmount] = ()

    @property
    def applied_splits(self) -> list[AppliedSplit]:
        """Those that had a cost to share out."""
        splits = [effect.applied for effect in self.effects]
        return [each for each in splits if each.moved or each.stayed]


@dataclass(frozen=True)
class SplitQuestion:
    """A plan of sums, and with what to ask the lake about it."""

    account: Account
    plan: SpendPlan
    context: DimensionContext
    deadline: float | None
    manifest: Manifest | None


splitters: Registry[Callable[[SplitQuestion], SplitResult]] = Registry("splitter")
"""The entry `splits` is the one that is used."""


def run_splits(question: SplitQuestion) -> SplitResult:
    """What splits move in the sums of this plan; an empty result where no app has splits."""
    splitter = splitters.get("splits")
    return splitter(question) if splitter else SplitResult()


def is_splittable(dimension: str) -> bool:
    """Whether cost is shared out among values of such a dimension: those of people and products, not of a bill."""
    return dimension in ("team", "product", "customer", "account") or dimension.startswith(
        ("tag:", "cost_tag:")
    )


def amounts_of(sums: dict[str, Decimal]) -> list[MoneyAmount]:
    """Amounts by currency, those that are not 0."""
    return [MoneyAmount(amount=sums[name], currency=name) for name in sorted(sums) if sums[name]]

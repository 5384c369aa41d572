"""The answers about shared-cost splits, the same for tool and pages. Exact Decimals, rounded by pages and tools.

Docstrings of these types are in the OpenAPI document; comments say more.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.costs.answers import AppliedCostView, MoneyAmount
from finops.lib.answers import AccountAnswer


# `received` is what the split brought in the answer's days.
class SplitTarget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    value: str
    percent: Decimal | None = None
    received: list[MoneyAmount] = []


# `targets` are as named; with `every_customer` those that received most. `moved` left the source in the answer's days,
# `stayed` had nothing to be shared out by, and `reason` says on which days.
class ListedSplit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """method: even, proportional (to the targets' cost), fixed, usage."""

    id: int
    name: str
    dimension: str
    source_value: str
    method: str
    every_customer: bool = False
    usage_metric: str = ""
    valid_from: date | None = None
    valid_to: date | None = None
    targets: list[SplitTarget]
    other_targets: int = 0
    moved: list[MoneyAmount]
    stayed: list[MoneyAmount] = []
    reason: str = ""


# The answer of `list_splits`, by name.
class SplitsAnswer(AccountAnswer, frozen=True, kw_only=True):
    view: AppliedCostView
    start_date: date
    end_date: date
    splits: list[ListedSplit]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


class SplitEffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a value costs before and after one split."""

    value: str
    label: str
    before: Decimal
    moved: Decimal
    after: Decimal
    currency: str


# Of one currency: the source and the targets, what all other values cost, and the whole, which a split never changes.
class EffectTotal(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    rows: list[SplitEffectRow]
    others: Decimal
    other_values: int
    whole: Decimal


# The answer of `split_effect`: the source first, then the targets by what they received.
class SplitEffectAnswer(msgspec.Struct, frozen=True, kw_only=True):
    view: AppliedCostView
    start_date: date
    end_date: date
    totals: list[EffectTotal]
    moved: list[MoneyAmount]
    warnings: list[str]

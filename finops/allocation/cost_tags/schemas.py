"""The schemas of queries and answers about cost tags, the same for tools and pages. Amounts are exact, one object a currency."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta

from finops.allocation.rules import Rule
from finops.costs.answers import (
    AppliedCostView,
    AppliedPeriod,
    AppliedSplit,
    MoneyAmount,
    SpendRow,
)
from finops.costs.spend_query import BasisName, Splits
from finops.lib.answers import AccountAnswer

MAX_TOP = 50


# Lean on purpose: these go to every assistant. Days are UTC, both ends inside; without any dates, the last 30 days.
class CostTagQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    cost_tag: Annotated[str, Meta(description="Key; default: the first cost tag.")] = ""
    group_by: Annotated[
        list[str], Meta(description="One more dimension: account, team, product …", max_length=1)
    ] = []
    values: Annotated[list[str], Meta(description="Only these values.", max_length=MAX_TOP)] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[str | None, Meta(description="As in querySpend.")] = None
    basis: Annotated[BasisName | None, Meta(description="As in querySpend.")] = None
    splits: Splits = "before"
    limit: Annotated[int, Meta(description="Maximum rows per currency.", ge=1, le=MAX_TOP)] = 20

    @property
    def by(self) -> str:
        """The dimension beside the cost tag; empty for none."""
        return self.group_by[0].strip() if self.group_by else ""


class CostTagInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A cost tag of the account, whole."""

    id: int
    key: str
    description: str
    default_value: str
    rules: tuple[Rule, ...]
    version: int
    changed_at: datetime
    changed_by: str

    @property
    def dimension(self) -> str:
        return f"cost_tag:{self.key}"


class RuleCatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule gives its value to. `number` from 1.

    `lines` and `amounts` are of the lines that no earlier rule caught. Where that is none, `matching_lines` says how
    many it would catch alone, and `shadowed_by` the earlier rules that catch them; else these are `lines` and empty.
    """

    number: int
    name: str
    lines: int
    amounts: list[MoneyAmount]
    matching_lines: int
    shadowed_by: list[int]


class ValueCatch(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one value, the largest first."""

    value: str
    lines: int
    amounts: list[MoneyAmount]


class CostTagPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What rules would do to the cost of some days, in the account's cost view.

    `totals` are rules and `rest` together. `rest` is what no rule catches: it has the value `rest_value`.
    """

    start_date: date
    end_date: date
    rules: list[RuleCatch]
    values: list[ValueCatch]
    rest_value: str
    rest_lines: int
    rest: list[MoneyAmount]
    totals: list[MoneyAmount]
    lines: int
    warnings: list[str]


class CostTagEffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """One value in one month and currency: its cost before and after. `moved` is after less before."""

    month: date
    value: str
    currency: str
    before: Decimal
    after: Decimal
    moved: Decimal
    is_closed: bool


class MonthEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What changes its value in one month and currency, of how much.

    `changed` is the cost of the lines that change their value; `total` is the month's cost, which stays. `is_closed`:
    the account has closed the month.
    """

    month: date
    currency: str
    total: Decimal
    changed: Decimal
    changed_lines: int
    is_closed: bool


class CostTagEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What saving would move. `rows` are the values whose cost changes; empty `months` is no change at all.

    `truncated` says what is not listed.
    """

    start_date: date
    end_date: date
    months: list[MonthEffect]
    rows: list[CostTagEffectRow]
    truncated: str
    warnings: list[str]


# `rules` are in order, each as `3. Production: tag:env is prod or live → Production`; `first_rule` numbers the first.
class ListedCostTag(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    key: str
    dimension: str
    rules_count: int
    version: int
    changed_at: datetime
    description: str = ""
    default_value: str = ""
    changed_by: str = ""
    first_rule: int = 1
    rules: list[str] = msgspec.field(default_factory=list)


class CostTagsAnswer(AccountAnswer, frozen=True, kw_only=True):
    cost_tags: list[ListedCostTag]
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


# `untagged` is the cost of lines that no rule catches, whether or not the cost tag gives them a default value.
class CostTagTotal(msgspec.Struct, frozen=True, kw_only=True):
    amount: Decimal
    untagged: Decimal
    untagged_share: Decimal | None
    currency: str


# The row with `other_values` is the sum of so many values that are not listed. `is_default`: what no rule catches has it.
class CostTagValueCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    value: str
    amount: Decimal
    after_splits: Decimal
    currency: str
    share: Decimal | None
    other_values: int = 0
    is_default: bool = False


class CostTagAnswer(AccountAnswer, frozen=True, kw_only=True):
    cost_tag: str
    view: AppliedCostView
    period: AppliedPeriod
    totals: list[CostTagTotal]
    values: list[CostTagValueCost]
    rows: list[SpendRow]
    rows_splits: str
    applied_splits: list[AppliedSplit]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""

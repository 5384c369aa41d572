"""The forms of answers about cost, the same for tools and pages.

Amounts are exact Decimals, with their currency in the same object; endpoints round them to six places when they write
them. A ratio is None when its denominator is 0 or missing, and the reason stands beside it. Sentences are whole.

Docstrings of these types are in the OpenAPI document; comments say more.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import msgspec
from msgspec import structs

from finops.lib.answers import AccountAnswer
from finops.lib.answers import AccountRef as AccountRef
from finops.lib.answers import AppliedPeriod as AppliedPeriod
from finops.lib.sentences import join_with_and, money


# `charge_categories` are the names of those that count, or `all`.
class AppliedCostView(msgspec.Struct, frozen=True, kw_only=True):
    """How cost was counted."""

    basis: str
    charge_categories: list[str]
    is_account_view: bool

    @property
    def measure(self) -> str:
        """billed, amortized, or a measure that has no basis, in words."""
        return self.basis.replace("_", " ")

    @property
    def label(self) -> str:
        return f"{self.measure}, {' + '.join(self.charge_categories)} charge categories"


# A part of a total: credits, refunds, tax, one_time_fees, or an excluded charge category.
class PartAmount(msgspec.Struct, frozen=True, kw_only=True):
    part: str
    amount: Decimal
    currency: str


# A change between the compared days. `ratio` is relative to the absolute earlier amount: 0.1 is +10 %, also for credits.
# one_sided: monthly and one-time charges on only one of the sides, if they cause most of the change.
class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """ratio: change ÷ previous_amount."""

    current_amount: Decimal
    previous_amount: Decimal | None
    change: Decimal | None
    ratio: Decimal | None
    currency: str
    reason: str = ""
    one_sided: Decimal | None = None


Series = dict[str, Decimal | None]
"""The first day of each bucket (ISO) and the amount in it; None where the account has no data for those days."""


class SpendTotal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One currency: amount + left_out_amount = whole_amount."""

    amount: Decimal
    currency: str
    inside: list[PartAmount]
    left_out: list[PartAmount]
    left_out_amount: Decimal
    whole_amount: Decimal
    change: Change | None = None
    series: Series = msgspec.field(default_factory=dict)


# `group` has a value for each requested dimension, `labels` the names of values that are IDs. `other_groups` is the
# number of unlisted groups that the row sums up.
class SpendRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One group in one currency; share is of that currency's total."""

    group: dict[str, str]
    amount: Decimal
    currency: str
    share: Decimal | None
    share_reason: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    other_groups: int = 0
    change: Change | None = None
    series: Series = msgspec.field(default_factory=dict)


# Answers about a quantity have the same form, with quantity and unit in place of amount and currency.
_RENAMED = {"amount": "quantity", "currency": "unit"}


class PartQuantity(PartAmount, frozen=True, kw_only=True, rename=_RENAMED):
    amount: Decimal
    currency: str


class QuantityChange(
    Change,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={
        "current_amount": "current_quantity",
        "previous_amount": "previous_quantity",
        "change": "change_quantity",
        "currency": "unit",
    },
):
    current_amount: Decimal
    previous_amount: Decimal | None
    change: Decimal | None
    ratio: Decimal | None
    currency: str


class QuantityTotal(
    SpendTotal,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={**_RENAMED, "left_out_amount": "left_out_quantity", "whole_amount": "whole_quantity"},
):
    amount: Decimal
    currency: str
    left_out_amount: Decimal
    whole_amount: Decimal


class QuantityRow(SpendRow, frozen=True, kw_only=True, omit_defaults=True, rename=_RENAMED):
    amount: Decimal
    currency: str


# Both ends inclusive; only days with complete data.
class AppliedComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The days that change compares."""

    compare_to: str
    start_date: date
    end_date: date
    previous_start_date: date
    previous_end_date: date
    note: str


# An applied filter, with an alias such as EC2 replaced by the values in the data.
class AppliedFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    dimension: str
    op: str
    values: list[str]
    asked: list[str] = msgspec.field(default_factory=list)


# The effect of a shared-cost split: the amount moved from its source, and the amount that stayed because no target had
# a basis. Amounts of the query's days, before filters on the split's dimension.
class AppliedSplit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    dimension: str
    source_value: str
    moved: list[MoneyAmount]
    stayed: list[MoneyAmount] = []
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What it did, for people; why something stayed is a warning's matter."""
        moved = join_with_and([money(part.amount, part.currency) for part in self.moved]) or "nothing"
        stayed = join_with_and([money(part.amount, part.currency) for part in self.stayed])
        remainder = f"; {stayed} not moved" if stayed else ""
        return f"Split {self.name!r} moved {moved} of {self.source_value} ({self.dimension}) to its targets{remainder}."


# The answer of `query_spend`. Without group_by, `rows` is empty and `totals` has the result.
# own_amounts: the totals of a converted answer before conversion, by the currency of the bill.
# spread: the amount that spreading charges over their periods adds to each total, compared with their charge days.
class SpendAnswer(AccountAnswer, frozen=True, kw_only=True):
    view: AppliedCostView
    period: AppliedPeriod
    granularity: str
    group_by: list[str]
    totals: list[SpendTotal]
    rows: list[SpendRow]
    comparison: AppliedComparison | None
    resolved_filters: list[AppliedFilter]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
    applied_splits: list[AppliedSplit] = []
    spread: list[MoneyAmount] = []
    own_amounts: list[MoneyAmount] | msgspec.UnsetType = msgspec.UNSET


def drop_other_currencies(answer: SpendAnswer, currency: str) -> SpendAnswer:
    """Return a converted answer as a page shows it: amounts without a rate to `currency` are in a warning and not
    repeated in the page. Unchanged if no total has a rate, or if nothing is converted (empty)."""
    totals = [total for total in answer.totals if total.currency == currency]
    if not totals:
        return answer
    return structs.replace(
        answer, totals=totals, rows=[row for row in answer.rows if row.currency == currency]
    )


def in_units(answer: SpendAnswer) -> SpendAnswer:
    """Return an answer about a quantity in the same form, with units in place of currencies."""
    return structs.replace(
        answer,
        totals=[
            QuantityTotal(
                **{
                    **structs.asdict(total),
                    "left_out": [PartQuantity(**structs.asdict(part)) for part in total.left_out],
                    "change": change_in_units(total.change),
                }
            )
            for total in answer.totals
        ],
        rows=[
            QuantityRow(**{**structs.asdict(row), "change": change_in_units(row.change)})
            for row in answer.rows
        ],
    )


def change_in_units(change: Change | None) -> QuantityChange | None:
    return QuantityChange(**structs.asdict(change)) if change else None


# A value of a dimension in the data, with its cost in each currency.
class DimensionValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    value: str
    amounts: list[MoneyAmount]
    label: str = ""


class MoneyAmount(msgspec.Struct, frozen=True, kw_only=True):
    amount: Decimal
    currency: str


# The answer of `list_dimension_values`: values by cost, the largest first.
class DimensionValuesAnswer(AccountAnswer, frozen=True, kw_only=True):
    view: AppliedCostView
    dimension: str
    start_date: date | None
    end_date: date | None
    values: list[DimensionValue]
    total_values: int
    cursor: str
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


class DimensionInfo(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    description: str


# The dimension is `tag:<key>`.
class TagKeyInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """coverage: share of recent cost lines with it."""

    key: str
    coverage: Decimal | None = None


# stale: behind today or the account's newest data; failing: the newest import failed; importing: the first import
# runs. `reason` is a sentence.
class SourceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """status: healthy, stale, failing, importing, no_data."""

    name: str
    kind: str
    status: str
    reason: str
    first_day: date | None
    last_day: date | None
    rows: int
    last_import_at: datetime | None
    last_error: str


# A term of the account and its meaning, in `account_context`, for an assistant's first questions.
class GlossaryEntry(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    term: str
    meaning: str


# planning_basis: the basis of unit cost, budgets and forecasts; `view` has the basis of spend.
class ContextAnswer(AccountAnswer, frozen=True, kw_only=True):
    access: str
    today: date
    fiscal_start_month: int
    view: AppliedCostView
    planning_basis: str
    currencies: list[str]
    data_from: date | None
    data_through: date | None
    sources: list[SourceHealth]
    dimensions: list[DimensionInfo]
    tag_keys: list[TagKeyInfo]
    x_columns: list[str]
    glossary: list[GlossaryEntry]
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""

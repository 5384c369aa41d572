"""The answer about AI spend: billed cost, and beside it, never added, the cost estimated from usage. Exact Decimals.

An estimate is tokens of usage events times the price of their day. What has no price has no estimate, and is named.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.costs.answers import AppliedCostView, Change
from finops.lib.answers import AccountAnswer, AppliedPeriod


class UnitFigure(msgspec.Struct, frozen=True, kw_only=True):
    """`cost` ÷ `quantity`, times `per`; None with its reason. `days`: on how many days both are known."""

    amount: Decimal | None
    currency: str
    cost: Decimal | None = None
    quantity: Decimal | None = None
    per: int = 1
    days: int = 0
    reason: str = ""


class AiSpendTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What was billed in one currency. `other_charges`: what of it has no token type, such as seats and searches."""

    billed: Decimal
    currency: str
    other_charges: Decimal
    change: Change | None
    per_1000_tokens: UnitFigure
    per_session: UnitFigure
    per_seat: UnitFigure
    series: dict[date, Decimal]


class DifferencePart(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why billed and estimated differ, and by how much; the parts add up to the difference exactly."""

    name: str
    text: str
    amount: Decimal
    currency: str


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of usage in one currency, on `usage_days` of the range's days; and beside what was billed on the same days
    (`compared_days`), which `difference` is of: billed − estimated."""

    estimated: Decimal
    currency: str
    usage_days: int
    compared_days: int
    compared_billed: Decimal | None
    compared_estimated: Decimal | None
    difference: Decimal | None
    parts: list[DifferencePart]
    reason: str = ""


class UnpricedTokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of usage without a price, and so without an estimate."""

    model: str
    token_type: str
    tokens: Decimal
    reason: str


class AiSpendRow(msgspec.Struct, frozen=True, kw_only=True):
    """One group in one currency. `billed` None: no line. `estimated` None: no usage, or no price for a part of it
    (`reason`). Tokens are of the bill and of usage, each None where unknown."""

    group: list[str]
    currency: str
    billed: Decimal | None
    share: Decimal | None
    billed_tokens: Decimal | None
    usage_tokens: Decimal | None
    estimated: Decimal | None
    reason: str = ""
    per_1000_tokens: Decimal | None = None
    other_groups: int = 0


class TrendLine(msgspec.Struct, frozen=True, kw_only=True):
    """What one model was billed, by the first day of each bucket."""

    model: str
    currency: str
    amount: Decimal
    series: dict[date, Decimal]


class AiSpendAnswer(AccountAnswer, frozen=True, kw_only=True):
    """`own_price_models`: models whose estimate rests on prices that the account entered; the others' on the price list."""

    view: AppliedCostView
    period: AppliedPeriod
    group_by: list[str]
    totals: list[AiSpendTotal]
    estimates: list[Estimate]
    estimate_reason: str
    unpriced: list[UnpricedTokens]
    rows: list[AiSpendRow]
    trend: list[TrendLine]
    token_metrics: list[str]
    session_metric: str
    seat_metric: str
    price_list_read_on: date | None
    own_price_models: list[str]
    data_through: date | None
    truncated: str
    warnings: list[str]

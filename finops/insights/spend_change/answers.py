"""The form of the answer about a change of spend, the same for the tool and the page.

Docstrings of these types go to every assistant in the tools' output schemas, so they are short; comments say more.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.costs.answers import AccountRef, FilterUsed, ViewUsed


# The later days and the earlier ones; both ends inside, days with complete data only.
class ComparedDays(msgspec.Struct, frozen=True, kw_only=True):
    start_date: date
    end_date: date
    previous_start_date: date
    previous_end_date: date
    note: str


# `unmeasured` is of lines on both sides without a known quantity.
class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """Why it moved; they add up to change."""

    volume: Decimal
    price: Decimal
    new: Decimal
    gone: Decimal
    credits: Decimal
    refunds: Decimal
    unmeasured: Decimal
    currency: str


# One usage type within a move, and the effect that moved most of it.
class Cause(msgspec.Struct, frozen=True, kw_only=True):
    usage_type: str
    effect: str
    change: Decimal
    currency: str


# kind: new, gone, up, down, same. why: what moved most of it, an effect, or of credits and refunds what became of them:
# "credits began", "refunds ended". The row with `other_groups` sums up so many moves that are not listed.
class Move(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One group's change; moves add up to the total's."""

    group: dict[str, str]
    kind: str
    current_amount: Decimal
    previous_amount: Decimal
    change: Decimal
    ratio: Decimal | None
    currency: str
    why: str = ""
    ratio_reason: str = ""
    labels: dict[str, str] = {}
    effects: Effects | None = None
    causes: list[Cause] = []
    other_groups: int = 0


# one_sided: what of the change are charges for a month or once that one side alone has, where they decide it.
class ChangeTotal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One currency."""

    current_amount: Decimal
    previous_amount: Decimal
    change: Decimal
    ratio: Decimal | None
    currency: str
    ratio_reason: str = ""
    effects: Effects | None = None
    one_sided: Decimal | None = None


# Something that was found beside the change: an anomaly of these days, a connection's restated month …
class RelatedEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    day: date
    what: str
    console_url: str = ""


class SpendChangeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    account: AccountRef
    summary: str
    view: ViewUsed
    days: ComparedDays | None
    group_by: list[str]
    totals: list[ChangeTotal]
    moves: list[Move]
    beside: list[RelatedEvent]
    resolved_filters: list[FilterUsed]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""

"""The query about a change of spend (the tool `explainSpendChange`, the URL of its page), and its answer.

Docstrings of these types are in the OpenAPI document; comments say more.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.change_events.schemas import ChangeCandidate
from finops.costs.answers import AppliedCostView, AppliedFilter
from finops.costs.spend_query import (
    DEFAULT_PERIOD,
    MAX_FILTERS,
    MAX_GROUPS,
    BasisName,
    CostFilter,
    Period,
    SpendQuery,
)
from finops.lib.answers import AccountAnswer
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from finops.lib.url_query import UrlQuery

DEFAULT_TOP = 10
MAX_TOP = 30
DEFAULT_GROUP = "service"


# A change between two periods. Days are UTC, both ends inside; without any dates, the last 30 days against the 30 before.
class SpendChangeQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[Period | None, Meta(description="Relative period instead of dates.")] = None
    compare_to: Annotated[
        Literal["previous_period", "previous_year"], Meta(description="Previous period to compare with.")
    ] = "previous_period"
    previous_start_date: Annotated[date | None, Meta(description="First day of another previous period.")] = (
        None
    )
    previous_end_date: Annotated[date | None, Meta(description="Its last day.")] = None
    group_by: Annotated[
        list[str], Meta(description="One or two dimensions; default service.", max_length=MAX_GROUPS)
    ] = []
    basis: Annotated[BasisName | None, Meta(description="Default: the cost view.")] = None
    charge_categories: Annotated[list[str], Meta(description="Default: the cost view.")] = []
    limit: Annotated[int, Meta(description="Maximum drivers per currency.", ge=1, le=MAX_TOP)] = DEFAULT_TOP


def spend_question(query: SpendChangeQuery) -> SpendQuery:
    """The spend on both sides."""
    dated = query.start_date or query.end_date
    return SpendQuery(
        start_date=query.start_date,
        end_date=query.end_date,
        period=query.period or (None if dated else DEFAULT_PERIOD),
        group_by=list(query.group_by) or [DEFAULT_GROUP],
        filters=list(query.filters),
        basis=query.basis,
        charge_categories=list(query.charge_categories),
        compare_to=query.compare_to,
    )


def earlier_days(query: SpendChangeQuery, days: DateRange) -> DateRange | None:
    """The earlier days that a query names itself. Raises UserError for half of them, or for later ones."""
    start, end = query.previous_start_date, query.previous_end_date
    if start is None and end is None:
        return None
    if start is None or end is None:
        missing = "previous_start_date" if start is None else "previous_end_date"
        raise UserError(f"{missing} is missing. A previous period needs both dates.", field=missing)
    if start > end:
        raise UserError(
            f"previous_start_date {start} is after previous_end_date {end}.",
            field="previous_start_date",
            value=start.isoformat(),
        )
    if end >= days.start:
        raise UserError(
            f"previous_end_date {end} is not before {days.start}, the first day of the current "
            "period. Overlapping days would count twice.",
            field="previous_end_date",
            value=end.isoformat(),
        )
    return DateRange(start, end)


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
    __doc__ = None
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


class SpendChangeAnswer(AccountAnswer, frozen=True, kw_only=True):
    view: AppliedCostView
    days: ComparedDays | None
    group_by: list[str]
    totals: list[ChangeTotal]
    moves: list[Move]
    beside: list[RelatedEvent]
    candidates: list[ChangeCandidate]
    resolved_filters: list[AppliedFilter]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""

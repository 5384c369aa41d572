"""The schemas of answers about usage, the same for tools and pages.

Quantities are exact Decimals; the answer says their metric, unit and aggregation, and their currency if the unit is one. Endpoints round
them to six places when they write them. None: there is no event.

Docstrings of these types are in the OpenAPI document; comments say more.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import msgspec

from finops.lib.answers import AccountAnswer, AppliedPeriod

QuantitySeries = dict[str, Decimal | None]
"""The first day of each bucket (ISO) and the quantity in it; None where the metric has no event."""


# ratio: quantity_change ÷ previous_quantity.
class UsageChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The same days before."""

    current_quantity: Decimal | None
    previous_quantity: Decimal | None
    quantity_change: Decimal | None
    ratio: Decimal | None
    currency: str = ""
    reason: str = ""


class UsageComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The days of both sides."""

    compare_to: str
    start_date: date
    end_date: date
    previous_start_date: date
    previous_end_date: date
    previous_active_customers: int


# `value` is a customer ID or a dimension's value; `name` is the customer's name. A row with `other_groups` stands for
# that many groups that are not listed. `share` is of the total, None if rows do not add up to it.
class UsageRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    value: str
    quantity: Decimal
    currency: str = ""
    share: Decimal | None
    days_with_data: int
    name: str = ""
    other_groups: int = 0
    change: UsageChange | None = None
    quantity_series: QuantitySeries = msgspec.field(default_factory=dict)


# The answer of `query_usage`. `active_customers` have a counted event in the period. `unit` is None without a unit or with
# several. `days_with_data`, `data_from` and `data_through` are of the metric in the period, whatever the filters.
class UsageAnswer(AccountAnswer, frozen=True, kw_only=True, omit_defaults=True):
    metric: str
    label: str
    aggregation: str
    unit: str | None
    currency: str = ""
    units: list[str]
    period: AppliedPeriod
    granularity: str
    group_by: str
    quantity: Decimal | None
    quantity_series: QuantitySeries
    rows: list[UsageRow]
    active_customers: int | None
    change: UsageChange | None
    comparison: UsageComparison | None
    days_with_data: int
    data_from: date | None
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


# `exact_quantity` is set if six places are not exact.
class UsageEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    event_time: datetime
    received_at: datetime
    customer_id: str
    metric: str
    quantity: Decimal
    unit: str | None
    currency: str = ""
    source: str
    exact_quantity: str = ""
    customer_name: str = ""
    dimensions: dict[str, str] = msgspec.field(default_factory=dict)


# The answer of `list_usage_events`, the newest event time first. `cursor` is empty at the end.
class EventsAnswer(AccountAnswer, frozen=True, kw_only=True):
    events: list[UsageEvent]
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""

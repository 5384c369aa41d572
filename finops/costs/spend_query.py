"""The query of spend: the arguments of the tool `querySpend` and the URL of the cost explorer, one type."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from finops.lib import clock
from finops.lib.errors import unknown_value
from finops.lib.periods import DEFAULT_PERIOD as DEFAULT_PERIOD
from finops.lib.periods import PERIOD_ALIASES, PERIODS, month_end, month_start
from finops.lib.periods import Granularity as Granularity
from finops.lib.periods import Period as Period
from finops.lib.url_query import UrlQuery

Op = Literal["in", "not_in", "contains", "not_contains", "starts_with", "ends_with", "absent"]
BasisName = Literal["billed", "amortized"]
CompareTo = Literal["none", "previous_period", "previous_year"]
Splits = Literal["before", "after"]
SpendOrder = Literal["amount", "change"]
Measure = Literal["cost", "list_cost", "contracted_cost", "consumed_quantity", "pricing_quantity"]
QUANTITIES = ("consumed_quantity", "pricing_quantity")
"""Measures in units: descriptions of currencies apply to units."""

DEFAULT_TOP = 10
MAX_TOP = 50
MAX_GROUPS = 2
MAX_FILTERS = 20


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Any of the values, in any case."""

    dimension: Annotated[str, Meta(description="A dimension such as service, region, tag:env.")]
    op: Annotated[
        Op,
        Meta(
            description="not_in and not_contains keep lines without a value; absent keeps only those, values empty."
        ),
    ] = "in"
    values: Annotated[list[str], Meta(description="Values from listDimensionValues.")] = []


# Filter without descriptions, for tools that refer to querySpend: all tool definitions together have 40 KB at most.
class CostFilter(Filter, frozen=True, kw_only=True):
    __doc__ = None
    dimension: str
    op: Op = "in"
    values: list[str] = []


# Days are UTC, both ends inside; without any dates, the last 30 days.
class SpendQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[Filter], Meta(description="Combined with AND.", max_length=MAX_FILTERS)] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[
        Period | None,
        Meta(description=("Instead of dates. last_N_days end yesterday, last_N_months before this month.")),
    ] = None
    granularity: Annotated[Granularity, Meta(description="Time buckets; weeks begin on Monday.")] = "none"
    group_by: Annotated[list[str], Meta(description="Up to two dimensions.", max_length=MAX_GROUPS)] = []
    basis: Annotated[BasisName | None, Meta(description="Default: the account's cost view.")] = None
    charge_categories: Annotated[
        list[str],
        Meta(
            description=(
                "Included: Usage, Purchase, Tax, Credit, Adjustment; or all. Default: the cost view."
            )
        ),
    ] = []
    limit: Annotated[
        int,
        Meta(description="Maximum groups per currency; the rest is in other.", ge=1, le=MAX_TOP),
    ] = DEFAULT_TOP
    compare_to: Annotated[CompareTo, Meta(description="Adds change to totals and rows.")] = "none"
    order_by: Annotated[SpendOrder, Meta(description="change: absolute; needs compare_to.")] = "amount"
    splits: Annotated[Splits, Meta(description="Before or after shared-cost splits.")] = "before"
    spread: Annotated[
        Literal["none", "charge_period"],
        Meta(description=("Spreads monthly charges (tax, seats) evenly by day.")),
    ] = "none"
    measure: Annotated[
        Measure, Meta(description="cost uses basis; quantities have a unit, not a currency.")
    ] = "cost"


def read_period(name: str | None) -> Period | None:
    """Parse the name of a period with tolerance (`Last month`); None if empty. Raises UserError with the nearest."""
    if not name:
        return None
    folded = name.strip().lower().replace(" ", "_").replace("-", "_")
    period = PERIOD_ALIASES.get(folded, folded)
    if period not in PERIODS:
        raise unknown_value("period", name[:60], PERIODS, show=str)
    return cast(Period, period)


def month_so_far(newest: date, **fields: Any) -> SpendQuery:
    """Return a question about the current month so far; if it has no data yet, about the month of the newest data."""
    if newest >= month_start(clock.today()):
        return SpendQuery(period="month_to_date", **fields)
    return SpendQuery(start_date=month_start(newest), end_date=month_end(newest), **fields)

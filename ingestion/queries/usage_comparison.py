"""Usage compared with an earlier period: the compared days, and the changes in total, by group and of customers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

from accounts.models import Account
from finops.lib import clock
from finops.lib.money import exact_difference, ratio
from finops.lib.periods import DateRange, previous_period, previous_year, whole_period
from ingestion.models import UsageMetric
from ingestion.queries.usage import MetricQuery, MetricUsage, plan_of, read_metric
from ingestion.queries.usage_lake import UsagePlan, conditions_of, usage_rows
from ingestion.schemas import UsageChange, UsageComparison
from ingestion.usage_query import UsageQuery

MAX_GROUPS = 5_000
"""With more groups than this, only the total is compared, since both sides are read with every group separately."""

NO_EVENT = "No events of the metric in the previous period."
NOTHING_BEFORE = "No usage in the previous period."
NOT_OVER = "No complete day in the period to compare."
TOO_MANY = f"Only the total is compared: more than {MAX_GROUPS:,} groups."


@dataclass(frozen=True)
class PeriodComparison:
    """Usage of the compared days, and of the earlier ones. `by_group`: whether each group was read; `unknown`: why
    some of the earlier days have no data."""

    days: DateRange
    earlier: DateRange
    current: MetricUsage
    previous: MetricUsage
    previous_customers: int
    by_group: bool
    unknown: str = ""

    @property
    def change(self) -> UsageChange:
        return self._change(self.current.total, self.previous.total)

    def change_of(self, value: str) -> UsageChange | None:
        """Return the change of one group; a group without an event has usage 0."""
        if not self.by_group:
            return None
        return self._change(_quantity_of(self.current, value), _quantity_of(self.previous, value))

    @property
    def gaps(self) -> str:
        """Return the number of days with events on both sides, if one has fewer; empty if they are equal."""
        now, before = self.current.days_with_data, self.previous.days_with_data
        if now == before:
            return ""
        return f"events on {now} of {self.days.days} days, previously on {before} of {self.earlier.days}"

    def to_answer(self, compare_to: str) -> UsageComparison:
        return UsageComparison(
            compare_to=compare_to,
            start_date=self.days.start,
            end_date=self.days.end,
            previous_start_date=self.earlier.start,
            previous_end_date=self.earlier.end,
            previous_active_customers=self.previous_customers,
        )

    def _change(self, now: Decimal | None, before: Decimal | None) -> UsageChange:
        if reason := self.unknown or ("" if self.previous.days_with_data else NO_EVENT):
            return UsageChange(
                current_quantity=now,
                previous_quantity=None,
                quantity_change=None,
                ratio=None,
                reason=reason,
            )
        current, previous = now or Decimal(0), before or Decimal(0)
        change = exact_difference(current, previous)
        share = ratio(change, abs(previous))
        return UsageChange(
            current_quantity=current,
            previous_quantity=previous,
            quantity_change=change,
            ratio=share,
            reason="" if share is not None else NOTHING_BEFORE,
        )


def _quantity_of(usage: MetricUsage, value: str) -> Decimal | None:
    return next((group.quantity for group in usage.groups if group.value == value), None)


def compare_usage(
    account: Account,
    metric: UsageMetric,
    metric_query: MetricQuery,
    query: UsageQuery,
    usage: MetricUsage,
    *,
    deadline: float | None,
) -> PeriodComparison | None:
    """Return the comparison of a query; None if no day of its period is over. Up to four lake queries.

    Today is incomplete, so the days before it are compared with the same number of days of the earlier period.
    `usage`: that of all days, all groups beyond `limit` as one.
    """
    yesterday = clock.today() - timedelta(days=1)
    if metric_query.days.start > yesterday:
        return None
    days = DateRange(metric_query.days.start, min(metric_query.days.end, yesterday))
    earlier = _earlier(query, days, metric_query.days)
    by_group = usage.group_count <= MAX_GROUPS
    question = replace(
        metric_query, granularity="none", **({"limit": None} if by_group else {"by": "", "limit": None})
    )
    previous = read_metric(account, metric, replace(question, days=earlier), deadline=deadline)
    return PeriodComparison(
        days=days,
        earlier=earlier,
        current=read_metric(account, metric, replace(question, days=days), deadline=deadline),
        previous=previous,
        previous_customers=active_customers(
            account, metric, replace(metric_query, days=earlier), deadline=deadline
        ),
        by_group=by_group,
        unknown=_incomplete_period_reason(account, metric, metric_query, earlier, previous, deadline),
    )


def _incomplete_period_reason(
    account: Account,
    metric: UsageMetric,
    metric_query: MetricQuery,
    earlier: DateRange,
    previous: MetricUsage,
    deadline: float | None,
) -> str:
    """Return why the earlier days are not a complete period; empty if they are. A lake query if their first day has
    no event."""
    if previous.first_day is None or previous.first_day <= earlier.start:
        return ""
    before = DateRange(date.min, earlier.start - timedelta(days=1))
    whole_metric = replace(metric_query, days=before, customers=(), dimensions=())
    if active_customers(account, metric, whole_metric, deadline=deadline):
        return ""
    return f"The metric's first event, of {previous.first_day}, is within the previous period."


def active_customers(
    account: Account, metric: UsageMetric, metric_query: MetricQuery, *, deadline: float | None
) -> int:
    """Return the number of customers with a counted event on the days. One lake query."""
    plan = plan_of(metric, replace(metric_query, by="", limit=None, granularity="none"))
    keys = plan.dimension_keys
    (row,) = usage_rows(account, metric_query.days, CustomersBuild(plan), keys=keys, deadline=deadline)
    count: int = row["customers"]
    return count


@dataclass(frozen=True)
class CustomersBuild:
    """The number of customers with an event of a plan; equal for equal plans, so that the lake compiles it once."""

    plan: UsagePlan

    def __call__(self, table: Any) -> Any:
        conditions = [table.metric == self.plan.metric, *conditions_of(self.plan, table)]
        return table.filter(reduce(and_, conditions)).aggregate(customers=table.customer_id.nunique())


def _earlier(query: UsageQuery, days: DateRange, whole: DateRange) -> DateRange:
    if query.compare_to == "previous_year":
        return previous_year(days)
    period = whole_period(query.period or "", whole)
    earlier = previous_period(period)
    if days == period:
        return earlier
    return DateRange(earlier.start, min(earlier.start + timedelta(days=days.days - 1), earlier.end))

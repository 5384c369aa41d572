"""The inputs of a unit cost: the cost, and the usage of the same days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

import msgspec

from accounts.models import Account
from finops.costs.queries.cost_sums import CostSums, read_costs
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import SpendQuery
from finops.lib.periods import DateRange, add_months, month_end, month_start
from finops.lib.usage_problems import problem_clauses
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries.customers import (
    Customers,
    Quantity,
    aliases_of,
    customers_of,
    require_customer_key,
)
from finops.unitcosts.queries.usage_scope import (
    UsageScope,
    match_metric,
    no_usage_reason,
    notes_of,
    usage_scope,
)
from finops.unitcosts.unit_cost_query import UnitCostQuery, cost_question
from ingestion.models import UsageMetric
from ingestion.queries import MetricQuery, MetricUsage, metrics_of
from ingestion.queries.resolution import find_customers
from ingestion.queries.usage import read_metric

NO_METRIC = "sum"


@dataclass(frozen=True)
class SharedReads:
    """Data that several questions of an account share, read once: `unit_metrics` are all saved ones, `costs` those of
    earlier questions."""

    sources: Sources
    metrics: list[UsageMetric]
    unit_metrics: Sequence[UnitMetric]
    costs: dict[bytes, CostSums] = field(default_factory=dict)


def common_reads(account: Account, unit_metrics: Sequence[UnitMetric], sources: Sources) -> SharedReads:
    """Return the shared data. One query."""
    return SharedReads(sources, metrics_of(account), unit_metrics)


@dataclass(frozen=True)
class Facts:
    """The data of one question. `customers` None: not joined by customer."""

    account: Account
    query: UnitCostQuery
    metric: str
    label: str
    key: str
    cost: CostSums
    usage: MetricUsage
    unused: str
    customers: Customers | None = None
    earlier_usage: MetricUsage | None = None
    compared_usage: MetricUsage | None = None
    notes: list[str] = field(default_factory=list)
    scope: UsageScope = field(default_factory=UsageScope)
    unknown_customers: Sequence[str] = ()
    """Clauses on requested customers that the account does not have."""

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """Usage by customer id."""
        return {
            group.value: Quantity(group.quantity, group.buckets) for group in self.usage.groups if group.value
        }

    @property
    def usage_problems(self) -> list[str]:
        """Clauses on sources that may lack usage of these days: without it a unit cost is too high."""
        return problem_clauses(self.cost.facts.sources.usage_problems, self.cost.days.end)

    @property
    def total_usage(self) -> Decimal | None:
        return self.usage.total


def read_facts(
    account: Account,
    query: UnitCostQuery,
    deadline: float | None,
    metrics: list[UsageMetric] | None = None,
    shared: SharedReads | None = None,
) -> Facts:
    """Read the cost and usage of a question. Errors and cost are those of `query_unit_cost`."""
    if shared is not None:
        metrics = shared.metrics
    metrics = metrics_of(account) if metrics is None else metrics
    metric = match_metric(metrics, query.usage_metric)
    matches = find_customers(account, query.customers)
    only = matches.ids
    by_customer = query.mode == "per_customer"
    why = "mode per_customer" if by_customer else "customers"
    key = require_customer_key(account, why=why) if by_customer or only else ""
    cost = _read_cost(account, cost_question(query, key), deadline, shared)
    scope = usage_scope(account, metric, query, cost, only, deadline)
    reader = _UsageReader(account, metric, query, scope, deadline)
    current, previous = _comparison_ranges(cost)
    pair = reader.read_months(previous, cost.days) if current == cost.days and not by_customer else None
    usage = (
        pair[1]
        if pair
        else reader.read(cost.days, granularity=query.granularity, by="customer" if by_customer else "")
    )
    customers = None
    if key:
        values = {part.keys[0] or "" for part in cost.sums}
        usage_ids = {group.value or "" for group in usage.groups}
        customers = customers_of(account, values, aliases_of(account), usage_ids | set(only))
        if only:
            cost = cost.only({value for value in values if customers.id_of(value) in only})
    return Facts(
        account=account,
        query=query,
        metric=metric.name if metric else query.usage_metric,
        label=metric.label if metric else "",
        key=key,
        cost=cost,
        usage=usage,
        unused=scope.no_usage_reason() or no_usage_reason(metrics, metric, query.usage_metric),
        customers=customers,
        compared_usage=usage if current == cost.days else reader.read(current) if current else None,
        earlier_usage=pair[0] if pair else reader.read(previous) if previous else None,
        notes=[*notes_of(metric, query.usage_metric), *matches.warnings, *scope.notes],
        scope=scope,
        unknown_customers=[*dict.fromkeys([*matches.clauses, *scope.unknown_customers])],
    )


def _read_cost(
    account: Account, question: SpendQuery, deadline: float | None, shared: SharedReads | None
) -> CostSums:
    """Return cost in the account's cost view for planning. Equal questions of `shared` are read once."""
    sources = (shared.sources if shared else load_sources(account)).for_planning
    key = msgspec.json.encode(question)
    cost = shared.costs.get(key) if shared else None
    if cost is None:
        cost = read_costs(account, question, deadline=deadline, together=True, sources=sources)
    if shared:
        shared.costs[key] = cost
    return cost


def _comparison_ranges(cost: CostSums) -> tuple[DateRange | None, DateRange | None]:
    """Return the days of both sides of the comparison."""
    days = cost.comparison
    if days is None:
        return None, None
    return (
        DateRange(days.start_date, days.end_date),
        DateRange(days.previous_start_date, days.previous_end_date),
    )


@dataclass(frozen=True)
class _UsageReader:
    account: Account
    metric: UsageMetric | None
    query: UnitCostQuery
    scope: UsageScope
    deadline: float | None

    def read(self, days: DateRange, *, granularity: str = "none", by: str = "") -> MetricUsage:
        """Read usage. One lake query; none for a metric without events, or if the filters exclude all of them."""
        if self.metric is None:
            return MetricUsage(self.query.usage_metric, NO_METRIC, None, [], 0, None)
        if self.scope.nothing:
            return MetricUsage(self.metric.name, self.metric.aggregation, None, [], 0, None)
        request = MetricQuery(
            self.metric.name, days, granularity, by, self.scope.customers, self.scope.dimensions
        )
        return read_metric(self.account, self.metric, request, deadline=self.deadline)

    def read_months(
        self, earlier: DateRange | None, later: DateRange
    ) -> tuple[MetricUsage, MetricUsage] | None:
        """Read a whole month and the previous month in one lake query; None if the days are not such months, are
        requested by bucket, or have several units, which may occur in one of the months only."""
        is_pair = (
            earlier is not None
            and self.query.granularity == "none"
            and later == DateRange(month_start(later.start), month_end(later.start))
            and earlier == DateRange(add_months(later.start, -1), later.start - timedelta(days=1))
        )
        if earlier is None or not is_pair:
            return None
        both = self.read(DateRange(earlier.start, later.end), granularity="month")
        return None if len(both.units) > 1 else (_month_of(both, earlier), _month_of(both, later))


def _month_of(usage: MetricUsage, month: DateRange) -> MetricUsage:
    """Return one month of usage that was read by month."""
    return replace(
        usage,
        total=usage.buckets.get(month.start),
        days_with_data=usage.bucket_days.get(month.start, 0),
        buckets={},
        bucket_days={},
    )

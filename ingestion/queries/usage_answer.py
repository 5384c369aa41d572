"""The query of the Usage page and the tool queryUsage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from msgspec.structs import replace

from accounts.models import Account
from finops.lib import clock
from finops.lib.answers import AccountRef, AppliedPeriod, largest_that_fits
from finops.lib.errors import UserError
from finops.lib.money import ratio
from finops.lib.periods import DateRange, bucket_starts, partial_bucket_warnings
from finops.lib.sentences import LARGE_RATIO, change_percent_text, quote
from finops.lib.usage_problems import clause_warnings, clauses_text, problem_clauses
from ingestion.models import UsageMetric
from ingestion.queries import usage_text
from ingestion.queries.metrics import find_metric, metrics_of
from ingestion.queries.resolution import (
    EventDimensions,
    customer_names,
    find_customers,
    find_filters,
    find_group,
    find_unmatched_filters,
)
from ingestion.queries.source_problems import source_problems
from ingestion.queries.usage import MetricQuery, MetricUsage, UsageGroup, read_metric
from ingestion.queries.usage_comparison import (
    NOT_OVER,
    TOO_MANY,
    PeriodComparison,
    active_customers,
    compare_usage,
)
from ingestion.queries.usage_lake import AVERAGE, SUM
from ingestion.schemas import QuantitySeries, UsageAnswer, UsageRow
from ingestion.usage_query import CUSTOMER, MAX_TOP, UsageQuery, query_days

OTHER = "other"
MAX_BUCKETS = 400
BUCKET_DAYS = {"none": 100_000, "day": 1, "week": 7, "month": 28}

Fits = Callable[[UsageAnswer], bool]


@dataclass(frozen=True)
class _ResolvedQuery:
    """A query with its metric, dimensions and customers resolved."""

    account: Account
    query: UsageQuery
    metric: UsageMetric
    metric_query: MetricQuery
    warnings: list[str]
    problems: list[str]
    """Clauses on sources that may lack usage of these days."""
    event_dimensions: EventDimensions
    filter_clause: str = ""
    """A clause on customers that the account does not have, and on filters that the metric does not have."""


def query_usage(
    account: Account,
    query: UsageQuery,
    *,
    all_groups: bool = False,
    deadline: float | None = None,
    metrics: Sequence[UsageMetric] | None = None,
) -> UsageAnswer:
    """Return the usage of a metric, by its aggregation (see `read_usage`), in total and by group.

    `metrics` are those of the account, from a caller that has them already.
    The rest of the groups is one row, computed as one group. `all_groups`: every group separately, for exports.
    Raises UserError for errors that the caller can correct. One lake query; two queries in PostgreSQL, one more when
    grouped by customer, for each kind of filter, and for the names of dimensions. Another lake query counts customers
    if rows are not customers; a comparison adds up to four.
    """
    metrics = metrics_of(account) if metrics is None else metrics
    if not metrics:
        return _empty_answer(account, query)
    resolved_query = _resolve_query(account, query, metrics, all_groups=all_groups)
    usage = read_metric(account, resolved_query.metric, resolved_query.metric_query, deadline=deadline)
    resolved_query = _add_unmatched_filters(resolved_query, usage, deadline)
    if usage.total is None and not query.names_days:
        return _answer_for_today(
            resolved_query, usage, metrics=metrics, all_groups=all_groups, deadline=deadline
        )
    comparison = None
    if query.compare_to != "none":
        comparison = compare_usage(
            account, resolved_query.metric, resolved_query.metric_query, query, usage, deadline=deadline
        )
    return _answer(resolved_query, usage, comparison, _customers(resolved_query, usage, deadline))


def _add_unmatched_filters(
    resolved_query: _ResolvedQuery, usage: MetricUsage, deadline: float | None
) -> _ResolvedQuery:
    """Add what the filters on dimensions select that the metric does not have. No query if the metric has no events on
    these days, or each filter has a single value and events match."""
    metric_query = resolved_query.metric_query
    single = all(len(values) == 1 for _key, values in metric_query.dimensions)
    if not usage.days_with_data or (single and usage.total is not None):
        return resolved_query
    unmatched = find_unmatched_filters(
        resolved_query.account,
        metric_query.metric,
        metric_query.days,
        metric_query.dimensions,
        resolved_query.event_dimensions.keys,
        deadline=deadline,
    )
    warnings = [*resolved_query.warnings, *unmatched.warnings]
    clause = resolved_query.filter_clause + unmatched.clause
    return dataclasses.replace(resolved_query, warnings=warnings, filter_clause=clause)


def _customers(resolved_query: _ResolvedQuery, usage: MetricUsage, deadline: float | None) -> int:
    """Return the number of customers with a counted event; a lake query if the rows do not show it."""
    if resolved_query.metric_query.by == CUSTOMER:
        return usage.group_count
    if len(resolved_query.metric_query.customers) == 1:
        return int(usage.total is not None)
    return active_customers(
        resolved_query.account, resolved_query.metric, resolved_query.metric_query, deadline=deadline
    )


def _answer_for_today(
    resolved_query: _ResolvedQuery,
    usage: MetricUsage,
    *,
    metrics: Sequence[UsageMetric],
    all_groups: bool,
    deadline: float | None,
) -> UsageAnswer:
    """Return usage of today if there is none in the default period, for accounts that have just begun to push."""
    today = query_usage(
        resolved_query.account,
        replace(resolved_query.query, period="today"),
        all_groups=all_groups,
        deadline=deadline,
        metrics=metrics,
    )
    if today.quantity is None:
        return _answer(resolved_query, usage, None, 0)
    note = "No events in the last 30 days, so this is today (incomplete)."
    return replace(today, warnings=[note, *today.warnings])


def fit_to_size(
    account: Account, query: UsageQuery, answer: UsageAnswer, fits: Fits, *, deadline: float | None = None
) -> UsageAnswer:
    """Return the answer with fewer groups until it fits; last, without series. `truncated` says so."""

    def with_groups(limit: int) -> UsageAnswer:
        if limit == query.limit:
            return answer
        smaller = query_usage(account, replace(query, limit=limit), deadline=deadline)
        note = f"{smaller.truncated} Limited to 25 KB, so {limit} groups are listed.".strip()
        return replace(smaller, truncated=note, console_url=answer.console_url)

    fitting = largest_that_fits(with_groups, query.limit, fits)
    return fitting if fits(fitting) else _without_series(fitting)


def _without_series(answer: UsageAnswer) -> UsageAnswer:
    note = f"The series is omitted (25 KB limit). Use fewer days or a coarser granularity. {answer.truncated}"
    rows = [replace(row, quantity_series={}) for row in answer.rows]
    return replace(answer, quantity_series={}, rows=rows, truncated=note.strip())


def _resolve_query(
    account: Account, query: UsageQuery, metrics: Sequence[UsageMetric], *, all_groups: bool
) -> _ResolvedQuery:
    """Resolve the query. Raises UserError for an unknown metric, group or period, and for too many buckets."""
    days, event_dimensions = query_days(account, query), EventDimensions(account)
    if days.days > MAX_BUCKETS * BUCKET_DAYS[query.granularity]:
        raise UserError(
            f"granularity {query.granularity} over {days.days} days has more than {MAX_BUCKETS} "
            "buckets. Use fewer days or a coarser granularity (week, month).",
            field="granularity",
            value=query.granularity,
        )
    metric = find_metric(metrics, query.usage_metric) if query.usage_metric else metrics[0]
    group = find_group(event_dimensions, query.group)
    filtered = [value for item in query.filters if item.dimension == CUSTOMER for value in item.values]
    customers = find_customers(account, [*query.customers, *filtered])
    of_keys = [item for item in query.filters if item.dimension != CUSTOMER]
    dimensions, of_dimensions = find_filters(event_dimensions, of_keys)
    metric_query = MetricQuery(
        metric=metric.name,
        days=days,
        granularity=query.granularity,
        by=group.value,
        customers=customers.ids,
        dimensions=dimensions,
        limit=None if all_groups else query.limit,
    )
    metric_warnings = usage_text.default_metric_warning(metric, metrics) if not query.usage_metric else []
    of_group = [group.warning] if group.warning else []
    return _ResolvedQuery(
        account,
        query,
        metric,
        metric_query,
        [*metric_warnings, *of_group, *customers.warnings, *of_dimensions],
        problem_clauses(source_problems(account), days.end),
        event_dimensions,
        "".join(f"; {each}" for each in customers.clauses),
    )


def _answer(
    resolved_query: _ResolvedQuery, usage: MetricUsage, comparison: PeriodComparison | None, customers: int
) -> UsageAnswer:
    account, metric_query, query = resolved_query.account, resolved_query.metric_query, resolved_query.query
    group_values = [group.value for group in usage.groups if group.value is not None]
    names = customer_names(account, group_values) if metric_query.by == CUSTOMER else {}
    rows = [_row(resolved_query, usage, group, names, comparison) for group in usage.groups]
    return UsageAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=usage_text.summary(
            account,
            resolved_query.metric,
            metric_query,
            usage,
            rows,
            resolved_query.problems,
            resolved_query.filter_clause,
        )
        + _comparison_text(comparison, customers),
        metric=usage.metric,
        label=resolved_query.metric.label,
        aggregation=usage.aggregation,
        unit=usage.unit,
        units=usage.units,
        period=_period(query, metric_query.days),
        granularity=metric_query.granularity,
        group_by=metric_query.by,
        quantity=usage.total,
        quantity_series=_series(metric_query, usage, usage.buckets),
        rows=rows,
        active_customers=customers,
        change=comparison.change if comparison else None,
        comparison=comparison.to_answer(query.compare_to) if comparison else None,
        days_with_data=usage.days_with_data,
        data_from=usage.first_day,
        data_through=usage.last_day,
        truncated=_truncation_note(rows, query.limit),
        warnings=[
            *clause_warnings(resolved_query.problems),
            *resolved_query.warnings,
            *_comparison_warnings(query, comparison),
            *_warnings(metric_query, usage),
        ],
        hint=usage_text.hint(account, resolved_query.metric, metric_query, usage),
    )


def _period(query: UsageQuery, days: DateRange) -> AppliedPeriod:
    return AppliedPeriod(
        start_date=days.start,
        end_date=days.end,
        days=days.days,
        name=query.period or "",
        unfinished=days.end >= clock.today(),
    )


def _comparison_text(comparison: PeriodComparison | None, customers: int) -> str:
    """Return the comparison and the number of customers in words; empty without a comparison."""
    if comparison is None:
        return ""
    before = f"{comparison.previous_customers:,} before"
    active = f"{customers:,} customer{'' if customers == 1 else 's'} active, {before}"
    days = f"{comparison.earlier.start} to {comparison.earlier.end}"
    change = comparison.change
    if change.previous_quantity is None or change.ratio is None:
        return f" Change vs. {days} is unknown: {change.reason} {active[0].upper()}{active[1:]}."
    gaps = f" ({comparison.gaps})" if comparison.gaps else ""
    return f" {_change_text(change.ratio, change.current_quantity, change.previous_quantity)} vs. {days}{gaps}; {active}."


def _change_text(share: Decimal, current: Decimal | None, previous: Decimal) -> str:
    """Return a change in percent; both quantities where the earlier one is close to zero."""
    if share.copy_abs() < LARGE_RATIO:
        return change_percent_text(share)
    now = usage_text.format_quantity(current or Decimal(0), None)
    return f"{now} after {usage_text.format_quantity(previous, None)}"


def _comparison_warnings(query: UsageQuery, comparison: PeriodComparison | None) -> list[str]:
    if query.compare_to == "none":
        return []
    if comparison is None:
        return [NOT_OVER]
    return [] if comparison.by_group else [TOO_MANY]


def _row(
    resolved_query: _ResolvedQuery,
    usage: MetricUsage,
    group: UsageGroup,
    names: dict[str, str],
    comparison: PeriodComparison | None,
) -> UsageRow:
    is_other = group.value is None
    listed = sum(1 for each in usage.groups if each.value is not None)
    adds_up = _rows_add_up(resolved_query.metric_query, usage)
    return UsageRow(
        value=OTHER if group.value is None else group.value,
        quantity=group.quantity,
        share=ratio(group.quantity, usage.total) if adds_up and usage.total is not None else None,
        days_with_data=group.days_with_data,
        name=names.get(group.value or "", ""),
        other_groups=usage.group_count - listed if is_other else 0,
        change=comparison.change_of(group.value) if comparison and group.value is not None else None,
        quantity_series=_series(resolved_query.metric_query, usage, group.buckets),
    )


def _rows_add_up(metric_query: MetricQuery, usage: MetricUsage) -> bool:
    """Return whether rows add up to the total. A customer has a last or largest event under each value of a
    dimension, so those rows do not."""
    return usage.aggregation in (SUM, AVERAGE) or metric_query.by == CUSTOMER


def _series(metric_query: MetricQuery, usage: MetricUsage, buckets: dict[date, Decimal]) -> QuantitySeries:
    if metric_query.granularity == "none":
        return {}
    # Without an event, a sum is 0, but there is no last or largest value.
    nothing = Decimal(0) if usage.aggregation in (SUM, AVERAGE) else None
    return {
        start.isoformat(): buckets.get(start, nothing) if start in usage.bucket_days else None
        for start in bucket_starts(metric_query.granularity, metric_query.days)
    }


def _warnings(metric_query: MetricQuery, usage: MetricUsage) -> list[str]:
    warnings = usage_text.several_units(usage)
    if (
        metric_query.days.start <= clock.today() <= metric_query.days.end
        and usage.last_day
        and usage.last_day >= clock.today()
    ):
        warnings.append(f"Today, {clock.today()}, is incomplete.")
    if usage.groups and not _rows_add_up(metric_query, usage):
        warnings.append(
            f"Rows do not add up to the total: with aggregation {usage.aggregation} a customer counts "
            f"under each value of {metric_query.by.removeprefix('dimension:')}."
        )
    return warnings + partial_bucket_warnings(metric_query.granularity, metric_query.days)


def _truncation_note(rows: Sequence[UsageRow], limit: int) -> str:
    other_groups = sum(row.other_groups for row in rows)
    if not other_groups:
        return ""
    more = f"raise limit (now {limit}, maximum {MAX_TOP}) or " if limit < MAX_TOP else ""
    groups = "1 group is" if other_groups == 1 else f"{other_groups:,} groups are"
    return f"{groups} in the row other: {more}filter."


def _empty_answer(account: Account, query: UsageQuery) -> UsageAnswer:
    days = query_days(account, query)
    problems = problem_clauses(source_problems(account), days.end)
    return UsageAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{quote(account.name)} has no usage yet{clauses_text(problems)}.",
        metric=query.usage_metric,
        label="",
        aggregation=UsageMetric.Aggregation.SUM.value,
        unit=None,
        units=[],
        period=_period(query, days),
        granularity=query.granularity,
        group_by=query.group,
        quantity=None,
        quantity_series={},
        rows=[],
        active_customers=None,
        change=None,
        comparison=None,
        days_with_data=0,
        data_from=None,
        data_through=None,
        truncated="",
        warnings=clause_warnings(problems),
        hint=usage_text.HOW_TO_PUSH,
    )

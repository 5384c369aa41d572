"""Sentences of answers about usage."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from accounts.models import Account
from finops.lib import clock
from finops.lib.formats.numbers import plural
from finops.lib.money import round_amount
from finops.lib.sentences import exact_number, join_first, largest_parts, quote, truncate
from finops.lib.usage_problems import clauses_text
from ingestion.models import UsageMetric
from ingestion.queries.metrics import usage_metrics
from ingestion.queries.resolution import PREFIX
from ingestion.queries.usage import MetricQuery, MetricUsage
from ingestion.queries.usage_lake import NONE
from ingestion.schemas import UsageRow

NAMED_ROWS = 3
NAMED_UNITS = 5
NAME_LENGTH = 80

HOW_TO_PUSH = (
    "Create a usage source and its API key on the Connections page, and POST events to "
    "/api/usage/events. The source's page shows the request."
)

AGGREGATIONS = {
    "sum": "in total",
    "average_of_days": "on average per day with data ({days})",
    "last": "at the end (sum of each customer's last event)",
    "max": "at most (sum of each customer's largest event)",
}


def format_quantity(quantity: Decimal, unit: str | None) -> str:
    """Return `1,234.5 'calls'`, `1 'call'`, with at most six decimal places."""
    number = exact_number(round_amount(quantity))
    return f"{number} {quote(plural(unit, quantity), NAME_LENGTH)}" if unit else number


def title(metric: UsageMetric) -> str:
    return quote(metric.label or metric.name, NAME_LENGTH)


def summary(
    account: Account,
    metric: UsageMetric,
    metric_query: MetricQuery,
    usage: MetricUsage,
    rows: Sequence[UsageRow],
    problems: Sequence[str] = (),
    filter_clause: str = "",
) -> str:
    """Return one plain sentence: the quantity, the days, `problems` of sources, and the largest group."""
    when = f"from {metric_query.days.start} to {metric_query.days.end}"
    is_filtered = bool(metric_query.customers or metric_query.dimensions)
    if usage.total is None:
        subject = "no matching events" if is_filtered and usage.days_with_data else "no events"
        return f"{quote(account.name)} has {subject} of {title(metric)} {when}{filter_clause}{clauses_text(problems)}."
    count = f"{usage.days_with_data} days" if usage.days_with_data != 1 else "one day"
    how = AGGREGATIONS[usage.aggregation].format(days=count)
    of = " within the filters" if is_filtered else ""
    mixed = f"{units_clause(usage.units)}{_days_clause(metric_query, usage)}"
    not_final = f"{mixed}{filter_clause}{_group_clause(metric_query, rows)}{clauses_text(problems)}"
    return f"{quote(account.name)}, {title(metric)}{of} {when}: {format_quantity(usage.total, usage.unit)} {how}{not_final}{_largest_rows_text(rows, usage.unit)}."


def units_clause(units: Sequence[str]) -> str:
    """Return a clause on the units of which a quantity is the sum; empty for one unit."""
    if len(units) < 2:
        return ""
    named = join_first([quote(each, NAME_LENGTH) for each in units], NAMED_UNITS)
    return f"; added without conversion: units {named}"


def _group_clause(metric_query: MetricQuery, rows: Sequence[UsageRow]) -> str:
    """Return a clause on a grouping dimension that no event has: "most of it: '(none)'" alone would mislead."""
    if not metric_query.by.startswith(PREFIX) or [row.value for row in rows] != [NONE]:
        return ""
    return f"; none of these events has dimension {quote(metric_query.by.removeprefix(PREFIX), NAME_LENGTH)}"


def _days_clause(metric_query: MetricQuery, usage: MetricUsage) -> str:
    """Return a clause on the days without any event of the metric, and on today, which is not over; a period that
    ends today has no clause for today without events."""
    days, today = metric_query.days, clock.today()
    has_today = usage.last_day is not None and days.start <= today <= usage.last_day
    expected = days.days - (days.end == today and not has_today)
    clause = f"; {today} is incomplete" if has_today else ""
    if usage.days_with_data < expected:
        clause += f"; events on {usage.days_with_data} of {days.days} days"
    return clause


def _largest_rows_text(rows: Sequence[UsageRow], unit: str | None) -> str:
    parts = [
        (truncate(row.name or row.value, NAME_LENGTH), row.quantity, row.share)
        for row in rows
        if not row.other_groups
    ]
    text = largest_parts(parts, NAMED_ROWS, partial(format_quantity, unit=unit), most="most of it: ")
    return f"; {text}" if text else ""


def default_metric_warning(metric: UsageMetric, metrics: Sequence[UsageMetric]) -> list[str]:
    """Return a warning with the default metric, for a query without one."""
    if len(metrics) == 1:
        return []
    other_names = [quote(each.name, NAME_LENGTH) for each in metrics if each != metric]
    more = f" and {len(other_names) - 10} more" if len(other_names) > 10 else ""
    return [
        (
            f"metric was not set, so this is {metric.name!r}; also available: {', '.join(other_names[:10])}{more}."
        )
    ]


def several_units(usage: MetricUsage) -> list[str]:
    if len(usage.units) < 2:
        return []
    names = ", ".join(repr(truncate(unit, NAME_LENGTH)) for unit in usage.units[:NAMED_UNITS])
    more = f" and {len(usage.units) - NAMED_UNITS} more" if len(usage.units) > NAMED_UNITS else ""
    units = f"{len(usage.units)} units ({names}{more})"
    name = truncate(usage.metric, NAME_LENGTH)
    return [f"Events of {name!r} have {units}, added without conversion."]


def hint(account: Account, metric: UsageMetric, metric_query: MetricQuery, usage: MetricUsage) -> str:
    """Return the suggested next query. One more lake query if the answer is empty."""
    if usage.total is None and usage.days_with_data:
        return "Remove a filter, or group by customer or a dimension to see its values."
    if usage.total is None:
        infos = [each for each in usage_metrics(account) if each.name == metric.name]
        if not infos or infos[0].first_day is None:
            return HOW_TO_PUSH
        return f"Use days from {infos[0].first_day} to {infos[0].last_day}, which have events."
    if not metric_query.by:
        return "Add group_by customer or dimension:<key> to break it down."
    if metric_query.granularity == "none":
        return "Add granularity day, week or month for the trend."
    return "queryUnitCost divides cost by this metric."

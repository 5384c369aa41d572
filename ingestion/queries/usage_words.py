"""What answers about usage say in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from accounts.models import Account
from finops.lib.amounts import grouped
from finops.lib.money import rounded
from finops.lib.spoken import cut, largest_parts, quoted
from ingestion.answers import UsageRow
from ingestion.models import UsageMetric
from ingestion.queries.metrics import MetricInfo, usage_metrics
from ingestion.queries.usage import UsageAsked, UsageRead

NAMED_ROWS = 3
NAMED_UNITS = 5
NAME_LENGTH = 80

HOW_TO_PUSH = (
    "Create a usage source on the Connections page, generate its API key there, and let your backend POST its events "
    "to /api/usage/events; the source's page shows the request. A second later they count here."
)

AGGREGATIONS = {
    "sum": "in total",
    "average_of_days": "on average a day, over the {days} with data",
    "last": "at the end (each customer's last event, added up)",
    "max": "at most (each customer's largest event, added up)",
}


def said(quantity: Decimal, unit: str | None) -> str:
    """`1,234.5 'calls'`, at most six places."""
    return f"{grouped(rounded(quantity))} {quoted(unit, NAME_LENGTH)}" if unit else grouped(rounded(quantity))


def title(metric: UsageMetric) -> str:
    return quoted(metric.label or metric.name, NAME_LENGTH)


def summary(
    account: Account, metric: UsageMetric, asked: UsageAsked, read: UsageRead, rows: Sequence[UsageRow]
) -> str:
    """One plain sentence: how much of what when, and whose most of it is."""
    when = f"from {asked.days.start} to {asked.days.end}"
    narrowed = bool(asked.customers or asked.dimensions)
    if read.total is None:
        what = "no event that matches" if narrowed and read.days_with_data else "no event"
        return f"{quoted(account.name)} has {what} of {title(metric)} {when}."
    count = f"{read.days_with_data} days" if read.days_with_data != 1 else "one day"
    how = AGGREGATIONS[read.aggregation].format(days=count)
    of = " of what the filters choose" if narrowed else ""
    return f"{quoted(account.name)}, {title(metric)}{of} {when}: {said(read.total, read.unit)} {how}{_most(rows, read.unit)}."


def _most(rows: Sequence[UsageRow], unit: str | None) -> str:
    parts = [
        (cut(row.name or row.value, NAME_LENGTH), row.quantity, row.share)
        for row in rows
        if not row.other_groups
    ]
    text = largest_parts(parts, NAMED_ROWS, partial(said, unit=unit), most="most of it: ")
    return f"; {text}" if text else ""


def metric_chosen(metric: UsageMetric, metrics: Sequence[UsageMetric]) -> list[str]:
    """What was taken when the question names no metric."""
    if len(metrics) == 1:
        return []
    others = [quoted(one.name, NAME_LENGTH) for one in metrics if one != metric]
    more = f" and {len(others) - 10} more" if len(others) > 10 else ""
    return [f"metric was left out, so this is {metric.name!r}; there is also {', '.join(others[:10])}{more}."]


def several_units(read: UsageRead) -> list[str]:
    if len(read.units) < 2:
        return []
    names = ", ".join(repr(cut(unit, NAME_LENGTH)) for unit in read.units[:NAMED_UNITS])
    more = f" and {len(read.units) - NAMED_UNITS} more" if len(read.units) > NAMED_UNITS else ""
    units = f"{len(read.units)} units ({names}{more})"
    name = cut(read.metric, NAME_LENGTH)
    return [f"Events of {name!r} come in {units}, which are added as they are: a unit is a label only."]


def hint(account: Account, metric: UsageMetric, asked: UsageAsked, read: UsageRead) -> str:
    """What to ask next. One lake query more when the answer is empty."""
    if read.total is None and read.days_with_data:
        return "Leave a filter out, or group by customer or a dimension to see which values there are."
    if read.total is None:
        return _where_data_is(account, metric)
    if not asked.by:
        return "Add group_by customer, or dimension:<key>, to see whose usage it is."
    if asked.granularity == "none":
        return "Add granularity day, week or month to see how it developed."
    return "queryUnitCost divides cost by this metric."


def _where_data_is(account: Account, metric: UsageMetric) -> str:
    found: list[MetricInfo] = [one for one in usage_metrics(account) if one.name == metric.name]
    if not found or found[0].first_day is None:
        return HOW_TO_PUSH
    return f"Ask for days from {found[0].first_day} to {found[0].last_day}, which have events."

"""The one query behind the Usage page and the tool queryUsage: from a question to its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from msgspec.structs import replace

from accounts.models import Account
from finops.lib import clock
from finops.lib.answers import AccountRef, PeriodUsed
from finops.lib.errors import UserError
from finops.lib.money import ratio
from finops.lib.periods import DateRange, bucket_start, cut_buckets, next_bucket
from finops.lib.spoken import percent, quoted
from ingestion.answers import QuantitySeries, UsageAnswer, UsageRow
from ingestion.models import UsageMetric
from ingestion.queries import usage_words as words
from ingestion.queries.asked import Known, customer_names, find_customers, find_filters, find_group
from ingestion.queries.metrics import find_metric, metrics_of
from ingestion.queries.usage import UsageAsked, UsageGroup, UsageRead, read_metric
from ingestion.queries.usage_comparison import (
    NOT_OVER,
    TOO_MANY,
    Compared,
    active_customers,
    compare_usage,
)
from ingestion.queries.usage_lake import AVERAGE, SUM
from ingestion.usage_query import CUSTOMER, MAX_TOP, UsageQuery, asked_days

OTHER = "other"
MAX_BUCKETS = 400
BUCKET_DAYS = {"none": 100_000, "day": 1, "week": 7, "month": 28}

Fits = Callable[[UsageAnswer], bool]


@dataclass(frozen=True)
class _Question:
    """A query with everything in it found."""

    account: Account
    query: UsageQuery
    metric: UsageMetric
    asked: UsageAsked
    warnings: list[str]


def query_usage(
    account: Account, query: UsageQuery, *, all_groups: bool = False, deadline: float | None = None
) -> UsageAnswer:
    """How much was used of a metric, by its aggregation (see `read_usage`), in total and by group.

    The rest of the groups is one row, computed as one group. `all_groups`: every group apart, for exports. Raises
    UserError for what the caller can repair. One lake query; one query in PostgreSQL, one more when grouped by
    customer, for each kind of filter, and for the names of dimensions. A lake query more counts customers where rows are
    not of customers; a comparison adds up to four.
    """
    metrics = metrics_of(account)
    if not metrics:
        return _nothing_pushed(account, query)
    question = _question(account, query, metrics, all_groups=all_groups)
    read = read_metric(account, question.metric, question.asked, deadline=deadline)
    if read.total is None and not query.names_days:
        return _of_today(account, query, question, read, all_groups=all_groups, deadline=deadline)
    compared = None
    if query.compare_to != "none":
        compared = compare_usage(account, question.metric, question.asked, query, read, deadline=deadline)
    return _answer(question, read, compared, _customers(question, read, deadline))


def _customers(question: _Question, read: UsageRead, deadline: float | None) -> int:
    """How many customers have an event that counts; a lake query where the rows do not say it."""
    if question.asked.by == CUSTOMER:
        return read.group_count
    if len(question.asked.customers) == 1:
        return int(read.total is not None)
    return active_customers(question.account, question.metric, question.asked, deadline=deadline)


def _of_today(
    account: Account,
    query: UsageQuery,
    question: _Question,
    read: UsageRead,
    *,
    all_groups: bool,
    deadline: float | None,
) -> UsageAnswer:
    """Who has just begun to push has usage of today alone, which the default period does not reach."""
    today = query_usage(account, replace(query, period="today"), all_groups=all_groups, deadline=deadline)
    if today.quantity is None:
        return _answer(question, read, None, 0)
    note = "The last 30 days have no event, so this is of today, which is not over."
    return replace(today, warnings=[note, *today.warnings])


def shortened(
    account: Account, query: UsageQuery, answer: UsageAnswer, fits: Fits, *, deadline: float | None = None
) -> UsageAnswer:
    """The answer, asked again for fewer groups until it fits; last, without series. Says so in `truncated`."""
    top = query.top
    while not fits(answer) and top > 1:
        top //= 2
        found = query_usage(account, replace(query, top=top), deadline=deadline)
        note = (
            f"{found.truncated} A tool's answer is at most 25 KB, so {top} groups are listed apart.".strip()
        )
        answer = replace(found, truncated=note, console_url=answer.console_url)
    return answer if fits(answer) else _without_series(answer)


def _without_series(answer: UsageAnswer) -> UsageAnswer:
    note = (
        "The series is left out, because a tool's answer is at most 25 KB: ask for fewer days or a coarser "
        f"granularity. {answer.truncated}"
    )
    rows = [replace(row, quantity_series={}) for row in answer.rows]
    return replace(answer, quantity_series={}, rows=rows, truncated=note.strip())


def _question(
    account: Account, query: UsageQuery, metrics: Sequence[UsageMetric], *, all_groups: bool
) -> _Question:
    days, known = asked_days(account, query), Known(account)
    _check_buckets(query, days)
    metric = find_metric(metrics, query.metric) if query.metric else metrics[0]
    group = find_group(known, query.group_by)
    customers, of_customers = find_customers(account, _asked_customers(query))
    of_keys = [item for item in query.filters if item.dimension != CUSTOMER]
    dimensions, of_dimensions = find_filters(known, of_keys)
    asked = UsageAsked(
        metric=metric.name,
        days=days,
        granularity=query.granularity,
        by=group.value,
        customers=customers,
        dimensions=dimensions,
        top=None if all_groups else query.top,
    )
    chosen = words.metric_chosen(metric, metrics) if not query.metric else []
    of_group = [group.warning] if group.warning else []
    return _Question(account, query, metric, asked, [*chosen, *of_group, *of_customers, *of_dimensions])


def _asked_customers(query: UsageQuery) -> list[str]:
    """Those of `customers`, and of filters on the customer."""
    filtered = [value for item in query.filters if item.dimension == CUSTOMER for value in item.values]
    return [*query.customers, *filtered]


def _check_buckets(query: UsageQuery, days: DateRange) -> None:
    if days.days > MAX_BUCKETS * BUCKET_DAYS[query.granularity]:
        raise UserError(
            f"granularity {query.granularity} over {days.days} days gives more than {MAX_BUCKETS} buckets. "
            "Ask for fewer days or a coarser granularity (week, month).",
            field="granularity",
            value=query.granularity,
        )


def _answer(question: _Question, read: UsageRead, compared: Compared | None, customers: int) -> UsageAnswer:
    asked, query = question.asked, question.query
    names = _names(question, read)
    rows = [_row(question, read, group, names, compared) for group in read.groups]
    account = question.account
    return UsageAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=words.summary(account, question.metric, asked, read, rows) + _against(compared, customers),
        metric=read.metric,
        label=question.metric.label,
        aggregation=read.aggregation,
        unit=read.unit,
        units=read.units,
        period=_period(query, asked.days),
        granularity=asked.granularity,
        group_by=asked.by,
        quantity=read.total,
        quantity_series=_series(asked, read, read.buckets),
        rows=rows,
        active_customers=customers,
        change=compared.change if compared else None,
        comparison=compared.described(query.compare_to) if compared else None,
        days_with_data=read.days_with_data,
        data_from=read.first_day,
        data_through=read.last_day,
        truncated=_truncated(rows, query.top),
        warnings=[*question.warnings, *_of_comparison(query, compared), *_warnings(asked, read)],
        hint=words.hint(account, question.metric, asked, read),
    )


def _names(question: _Question, read: UsageRead) -> dict[str, str]:
    if question.asked.by != CUSTOMER:
        return {}
    return customer_names(question.account, [group.value for group in read.groups if group.value is not None])


def _period(query: UsageQuery, days: DateRange) -> PeriodUsed:
    return PeriodUsed(
        start_date=days.start,
        end_date=days.end,
        days=days.days,
        name=query.period or "",
        unfinished=days.end >= clock.today(),
    )


def _against(compared: Compared | None, customers: int) -> str:
    """How it compares, and how many customers there were; empty without a comparison."""
    if compared is None:
        return ""
    before = f"{compared.previous_customers:,} before"
    active = f"{customers:,} customer{'' if customers == 1 else 's'} active, {before}"
    days = f"{compared.earlier.start} to {compared.earlier.end}"
    change = compared.change
    if change.previous_quantity is None or change.ratio is None:
        return f" No change is known against {days}: {change.reason} {active[0].upper()}{active[1:]}."
    sign = "+" if change.ratio > 0 else ""
    gaps = f" ({compared.gaps})" if compared.gaps else ""
    return f" That is {sign}{percent(change.ratio)} against {days}{gaps}; {active}."


def _of_comparison(query: UsageQuery, compared: Compared | None) -> list[str]:
    if query.compare_to == "none":
        return []
    if compared is None:
        return [NOT_OVER]
    return [] if compared.by_group else [TOO_MANY]


def _row(
    question: _Question,
    read: UsageRead,
    group: UsageGroup,
    names: dict[str, str],
    compared: Compared | None,
) -> UsageRow:
    is_other = group.value is None
    listed = sum(1 for one in read.groups if one.value is not None)
    adds_up = _rows_add_up(question.asked, read)
    return UsageRow(
        value=OTHER if group.value is None else group.value,
        quantity=group.quantity,
        share=ratio(group.quantity, read.total) if adds_up and read.total is not None else None,
        days_with_data=group.days_with_data,
        name=names.get(group.value or "", ""),
        other_groups=read.group_count - listed if is_other else 0,
        change=compared.change_of(group.value) if compared and group.value is not None else None,
        quantity_series=_series(question.asked, read, group.buckets),
    )


def _rows_add_up(asked: UsageAsked, read: UsageRead) -> bool:
    """A customer has a last or largest event under each value of a dimension, so those rows do not."""
    return read.aggregation in (SUM, AVERAGE) or asked.by == CUSTOMER


def _series(asked: UsageAsked, read: UsageRead, buckets: dict[date, Decimal]) -> QuantitySeries:
    if asked.granularity == "none":
        return {}
    # No event adds nothing to a sum; but there is no last or largest of no event.
    nothing = Decimal(0) if read.aggregation in (SUM, AVERAGE) else None
    return {
        start.isoformat(): buckets.get(start, nothing) if start in read.bucket_days else None
        for start in _starts(asked)
    }


def _starts(asked: UsageAsked) -> list[date]:
    found, start = [], bucket_start(asked.granularity, asked.days.start)
    while start <= asked.days.end:
        found.append(start)
        start = next_bucket(asked.granularity, start)
    return found


def _warnings(asked: UsageAsked, read: UsageRead) -> list[str]:
    found = words.several_units(read)
    if (
        asked.days.start <= clock.today() <= asked.days.end
        and read.last_day
        and read.last_day >= clock.today()
    ):
        found.append(f"Today, {clock.today()}, is not over: it counts as far as it came.")
    if read.groups and not _rows_add_up(asked, read):
        found.append(
            f"Rows do not add up to the total: with aggregation {read.aggregation} a customer counts once under each "
            f"value of {asked.by.removeprefix('dimension:')}."
        )
    return found + cut_buckets(asked.granularity, asked.days)


def _truncated(rows: Sequence[UsageRow], top: int) -> str:
    folded = sum(row.other_groups for row in rows)
    if not folded:
        return ""
    more = f"raise top (now {top}, at most {MAX_TOP}) or " if top < MAX_TOP else ""
    groups = "1 group is" if folded == 1 else f"{folded:,} groups are"
    return f"{groups} in the row other: {more}filter."


def _nothing_pushed(account: Account, query: UsageQuery) -> UsageAnswer:
    days = asked_days(account, query)
    return UsageAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{quoted(account.name)} has no usage yet: nothing has been pushed.",
        metric=query.metric,
        label="",
        aggregation=UsageMetric.Aggregation.SUM.value,
        unit=None,
        units=[],
        period=_period(query, days),
        granularity=query.granularity,
        group_by=query.group_by,
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
        warnings=[],
        hint=words.HOW_TO_PUSH,
    )

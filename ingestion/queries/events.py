"""Raw events, newest first, for `listUsageEvents`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any
from uuid import UUID

import ibis

from accounts.models import Account
from finops.lake import queries as lake_queries
from finops.lake.schema import dimension_column, dimension_key, is_key_column
from finops.lib import clock
from finops.lib.answers import AccountRef
from finops.lib.cursors import foreign_cursor_error, key_cursor, key_of
from finops.lib.errors import UserError
from finops.lib.money import round_amount
from finops.lib.periods import DateRange
from finops.lib.sentences import join_first, quote, truncate
from ingestion.models import UsageSource
from ingestion.queries import usage_text
from ingestion.queries.metrics import find_metric, metrics_of
from ingestion.queries.resolution import customer_names, find_customers
from ingestion.queries.usage_lake import EVER, usage_rows
from ingestion.schemas import EventsAnswer, UsageEvent
from ingestion.usage_query import MAX_EVENTS, EventsQuery, events_days

RECENT_DAYS = 31
SHOWN_CUSTOMERS = 3
_KEY = ("event_time", "received_at", "batch", "position")
_COLUMNS = (
    "event_time",
    "received_at",
    "batch",
    "position",
    "customer_id",
    "metric",
    "unit",
    "quantity",
    "source",
)

Key = tuple[datetime, datetime, str, int]


@dataclass(frozen=True)
class _Page:
    """A page to read from the lake. `after` is the last event of the previous page."""

    metric: str
    customers: tuple[str, ...]
    keys: tuple[str, ...]
    limit: int
    after: Key | None

    def __call__(self, table: Any) -> Any:
        conditions = [table.metric == self.metric] if self.metric else []
        conditions += [table.customer_id.isin(list(self.customers))] if self.customers else []
        conditions += [_is_below(table, self.after)] if self.after else []
        events = table.filter(reduce(and_, conditions)) if conditions else table
        shown = events.select(*_COLUMNS, *(dimension_column(key) for key in self.keys))
        return shown.order_by([shown[name].desc() for name in _KEY]).limit(self.limit + 1)


def _is_below(table: Any, after: Key) -> Any:
    """Return whether an event comes after this one in the list: compared field by field."""
    literals = [ibis.literal(part) for part in after[:2]] + [
        ibis.literal(after[2]),
        ibis.literal(after[3], "int32"),
    ]
    below = ibis.literal(False)
    for name, part in reversed(list(zip(_KEY, literals, strict=True))):
        below = (table[name] < part) | ((table[name] == part) & below)
    return below


def list_usage_events(account: Account, query: EventsQuery, *, deadline: float | None = None) -> EventsAnswer:
    """Return events by event time, then time of receipt, newest first.

    `cursor` continues after the last event of the previous answer, whatever is pushed meanwhile: no event is returned
    twice, and no existing one is skipped. Raises UserError for an unknown metric, a limit outside 1 to 200 and a
    cursor of another query. One lake query, two if the newest month is not enough; five queries in PostgreSQL, one
    more with a customer.
    """
    if not 1 <= query.limit <= MAX_EVENTS:
        raise UserError(
            f"limit: {query.limit} is not between 1 and {MAX_EVENTS}.", field="limit", value=query.limit
        )
    question = (
        account.pk,
        query.usage_metric,
        query.customers,
        query.start_date,
        query.end_date,
        query.period,
    )
    after = _after(query.cursor, question)
    metrics = metrics_of(account)
    if not metrics:
        return _answer(
            account, [], hint=usage_text.HOW_TO_PUSH, summary=f"{quote(account.name)} has no usage yet."
        )
    customers = find_customers(account, query.customers)
    page = _Page(
        metric=find_metric(metrics, query.usage_metric).name if query.usage_metric else "",
        customers=customers.ids,
        keys=tuple(lake_queries.dimension_keys(account)),
        limit=query.limit,
        after=after,
    )
    days = events_days(account, query)
    rows = _read_page(account, page, days or EVER, deadline)
    shown = rows[: query.limit]
    more = key_cursor(_as_key(shown[-1]), *question) if len(rows) > query.limit else ""
    return _answer(
        account,
        _events(account, shown),
        cursor=more,
        warnings=customers.warnings,
        summary=_summary(account, query, days, shown, more),
        hint=_hint(query, shown, more),
    )


def _after(cursor: str, question: tuple[object, ...]) -> Key | None:
    key = key_of(cursor, *question)
    if not key:
        return None
    try:
        event_time, received_at, batch, position = key
        times = [datetime.fromisoformat(text).astimezone(UTC) for text in (event_time, received_at)]
        return times[0], times[1], str(UUID(batch)), _position(position)
    except (ValueError, OverflowError) as error:
        raise foreign_cursor_error(cursor) from error


def _position(text: str) -> int:
    """Return the position of a cursor. Raises ValueError for an impossible one."""
    number = int(text)
    if not 0 <= number < 2**31:
        raise ValueError(text)
    return number


def _as_key(row: dict[str, Any]) -> tuple[str, ...]:
    times = [row[name].astimezone(UTC).isoformat() for name in _KEY[:2]]
    return (*times, row["batch"], str(row["position"]))


def _read_page(
    account: Account, page: _Page, days: DateRange, deadline: float | None
) -> list[dict[str, Any]]:
    """Return the page and one event more, if there is one. The newest month is read first, since it usually has all
    of them."""
    # Events below the cursor are of its day or earlier, so whole segments are skipped.
    day_range = DateRange(days.start, min(days.end, page.after[0].date()) if page.after else days.end)
    if day_range.end < day_range.start:
        return []
    newest = min(day_range.end, clock.today())
    first = date.fromordinal(max(day_range.start.toordinal(), newest.toordinal() - RECENT_DAYS))
    rows = usage_rows(account, DateRange(first, day_range.end), page, keys=page.keys, deadline=deadline)
    if len(rows) <= page.limit and first > day_range.start:
        rows = usage_rows(account, day_range, page, keys=page.keys, deadline=deadline)
    return sorted(rows, key=lambda row: tuple(row[name] for name in _KEY), reverse=True)


def _events(account: Account, rows: Sequence[dict[str, Any]]) -> list[UsageEvent]:
    names = customer_names(account, list({row["customer_id"] for row in rows}))
    sources = {
        str(pk): name for pk, name in UsageSource.objects.filter(account=account).values_list("pk", "name")
    }
    return [_event(row, names, sources) for row in rows]


def _event(row: dict[str, Any], names: dict[str, str], sources: dict[str, str]) -> UsageEvent:
    quantity: Decimal = row["quantity"]
    dimensions = {name: value for name, value in row.items() if is_key_column(name) and value is not None}
    return UsageEvent(
        event_time=row["event_time"],
        received_at=row["received_at"],
        customer_id=row["customer_id"],
        metric=row["metric"],
        quantity=quantity,
        exact_quantity="" if round_amount(quantity) == quantity else f"{quantity.normalize():f}",
        unit=row["unit"],
        source=sources.get(row["source"], row["source"]),
        customer_name=names.get(row["customer_id"], ""),
        dimensions={dimension_key(name): value for name, value in dimensions.items()},
    )


def _answer(
    account: Account,
    events: list[UsageEvent],
    *,
    summary: str,
    hint: str,
    cursor: str = "",
    warnings: Sequence[str] = (),
) -> EventsAnswer:
    return EventsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=summary,
        events=events,
        cursor=cursor,
        truncated="Older events exist. Use cursor for the next page." if cursor else "",
        warnings=list(warnings),
        hint=hint,
    )


def _summary(
    account: Account, query: EventsQuery, days: DateRange | None, rows: Sequence[dict[str, Any]], more: str
) -> str:
    of = f" of {truncate(query.usage_metric, usage_text.NAME_LENGTH)!r}" if query.usage_metric else ""
    names = [repr(truncate(name, usage_text.NAME_LENGTH)) for name in query.customers]
    noun = "customer" if len(names) == 1 else "customers"
    by = f" of {noun} {join_first(names, SHOWN_CUSTOMERS)}" if names else ""
    if not rows:
        when = f" from {days.start} to {days.end}" if days else ""
        return f"{quote(account.name)} has no {'older ' if query.cursor else ''}usage event{of}{by}{when}."
    count = f"{len(rows)} usage events" if len(rows) > 1 else "one usage event"
    first, last = (
        row["event_time"].replace(tzinfo=None).isoformat(" ", "seconds") for row in (rows[-1], rows[0])
    )
    ending = ", and older ones" if more else _days_clause(query, days, rows)
    return f"{quote(account.name)}: {count}{of}{by} from {first} to {last} UTC{ending}."


def _days_clause(query: EventsQuery, days: DateRange | None, rows: Sequence[dict[str, Any]]) -> str:
    """Return a clause on the days of the query without an event, where the page has all of its events."""
    if days is None or query.cursor:
        return ""
    count = len({row["event_time"].astimezone(UTC).date() for row in rows})
    return f"; events on {count} of {days.days} days" if count < days.days else ""


def _hint(query: EventsQuery, rows: Sequence[dict[str, Any]], more: str) -> str:
    if more:
        return "Use cursor with the same arguments for more. For totals use queryUsage."
    if rows or query.cursor:
        return "No more events. For totals use queryUsage."
    return "Remove customers, usage_metric or the days, or use queryUsage to find days with events."

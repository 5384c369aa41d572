"""Change events for lists: the page and the answer of `listChangeEvents`."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from django.db.models import Q, QuerySet

from accounts.models import Account
from finops.change_events.event_rules import dimension_name
from finops.change_events.models import ChangeEvent
from finops.change_events.queries.scope_conditions import ids_that_fit
from finops.change_events.queries.visible import visible_events
from finops.change_events.schemas import ChangeEventRow, ChangeEventsAnswer, ChangeEventsQuery, origin_of
from finops.change_events.scopes import scope_filters_of
from finops.lib.answers import AccountRef
from finops.lib.cursors import foreign_cursor_error, key_cursor, key_of
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, quote

MAX_READ = 20_000
"""The maximum of events within a scope that are listed and counted, the newest."""

CANDIDATES = "Events are candidates by scope and time, not causes. explainSpendChange ranks the events near a change of spend."
NO_EVENT_HINT = "Widen the days, kinds or filters. Members connect sources of events under Connections."


def listed_events(*, kind: str = "", origin: str = "", search: str = "") -> QuerySet[ChangeEvent]:
    """Events of the account in scope that the reader may see, newest first. `origin` is the id of a source, `note` or
    `derived`; every word of `search` occurs in title, actor or scope."""
    events = visible_events()
    if kind:
        events = events.filter(kind=kind)
    if origin in (ChangeEvent.Origin.NOTE, ChangeEvent.Origin.DERIVED):
        events = events.filter(origin=origin)
    elif origin:
        is_id = origin.isascii() and origin.isdecimal() and len(origin) < 19
        events = events.filter(source_id=int(origin)) if is_id else events.none()
    for word in search.replace("\0", "").split():
        events = events.filter(Q(title__icontains=word) | Q(actor__icontains=word) | Q(scope__icontains=word))
    return events


def list_change_events(account: Account, query: ChangeEventsQuery) -> ChangeEventsAnswer:
    """The events of a query, newest first; `cursor` continues below the last one, whatever events arrive in between.

    Three queries. Raises UserError for days in the wrong order, an unknown dimension and an invalid cursor.
    """
    _check_days(query)
    _check_dimensions(query)
    filters = scope_filters_of(query.filters)
    question = (account.pk, query.start_date, query.end_date, tuple(query.kinds), tuple(filters))
    rows = _matching_events(query)
    warnings, is_cut = [], False
    if filters:
        ids = ids_that_fit(rows, filters, MAX_READ + 1)
        is_cut = len(ids) > MAX_READ
        if is_cut:
            warnings.append(f"Only the newest {MAX_READ:,} of these events are listed. Use fewer days.")
        total = len(ids[:MAX_READ])
        rows = rows.filter(pk__in=ids[:MAX_READ])
    else:
        total = rows.count()
    page = list(_after(rows, query.cursor, question)[: query.limit + 1])
    listed = page[: query.limit]
    more = len(page) > query.limit
    return ChangeEventsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, query, listed, total, is_cut=is_cut),
        events=[row_of(event) for event in listed],
        total_events=total,
        cursor=_cursor(listed[-1], question) if more else "",
        truncated=f"{len(listed)} of {total:,}. Use cursor for older events." if more else "",
        warnings=warnings,
        hint=CANDIDATES if total else NO_EVENT_HINT,
    )


def row_of(event: ChangeEvent) -> ChangeEventRow:
    return ChangeEventRow(
        occurred_at=event.occurred_at,
        kind=event.kind,
        title=event.title,
        source=origin_of(event),
        actor=event.actor,
        url=event.url,
        scope=event.scope,
    )


def events_between(first: date, last: date) -> QuerySet[ChangeEvent]:
    """Events of the account in scope on these days (UTC, inclusive) that the reader may see, newest first."""
    start, end = datetime.combine(first, time.min, UTC), datetime.combine(last, time.max, UTC)
    return visible_events().filter(occurred_at__gte=start, occurred_at__lte=end)


def nearest_events(days: DateRange, day: date, most: int) -> tuple[list[ChangeEvent], bool]:
    """Return the events on these days that are nearest to the start of `day` and visible to the reader, half of
    `most` on either side, newest first; and whether there are more. One query."""
    half = most // 2
    start = datetime.combine(day, time.min, UTC)
    events = events_between(days.start, days.end)
    later = events.filter(occurred_at__gte=start).order_by("occurred_at", "id")
    earlier = events.filter(occurred_at__lt=start)
    rows = list(later[: half + 1].union(earlier[: half + 1], all=True))
    sides = [[row for row in rows if (row.occurred_at < start) is is_earlier] for is_earlier in (False, True)]
    near = [
        row for side in sides for row in sorted(side, key=lambda row: abs(row.occurred_at - start))[:half]
    ]
    near.sort(key=lambda row: (row.occurred_at, row.pk), reverse=True)
    return near, any(len(side) > half for side in sides)


def _check_days(query: ChangeEventsQuery) -> None:
    if query.start_date and query.end_date and query.end_date < query.start_date:
        raise UserError(
            f"end_date {query.end_date} is before start_date {query.start_date}.",
            field="end_date",
            value=str(query.end_date),
        )


def _check_dimensions(query: ChangeEventsQuery) -> None:
    for each in query.filters:
        if dimension_name(each.dimension) is None:
            name = each.dimension[:60]
            raise UserError(
                f"filters: {quote(name)} is no dimension of cost (see getAccountContext).",
                field="filters",
                value=name,
            )


def _matching_events(query: ChangeEventsQuery) -> QuerySet[ChangeEvent]:
    rows = events_between(query.start_date or date.min, query.end_date or date.max)
    return rows.filter(kind__in=query.kinds) if query.kinds else rows


def _after(rows: QuerySet[ChangeEvent], cursor: str, question: tuple[object, ...]) -> QuerySet[ChangeEvent]:
    key = key_of(cursor, *question)
    if not key:
        return rows
    try:
        moment, pk = datetime.fromisoformat(key[0]).astimezone(UTC), int(key[1])
    except (ValueError, IndexError, OverflowError) as error:
        raise foreign_cursor_error(cursor) from error
    if not 0 <= pk < 2**63:
        raise foreign_cursor_error(cursor)
    return rows.filter(Q(occurred_at__lt=moment) | Q(occurred_at=moment, pk__lt=pk))


def _cursor(event: ChangeEvent, question: tuple[object, ...]) -> str:
    return key_cursor((event.occurred_at.isoformat(), str(event.pk)), *question)


def _summary(
    account: Account, query: ChangeEventsQuery, listed: list[ChangeEvent], total: int, *, is_cut: bool
) -> str:
    when = _days_text(query)
    of = " that fit the filters" if query.filters else ""
    kinds = f" of kind {join_with_and(list(query.kinds))}" if query.kinds else ""
    if not total:
        return f"{quote(account.name)} has no change events{kinds}{of}{when}."
    count = f"more than {total:,}" if is_cut else f"{total:,}"
    noun = "change event" if total == 1 else "change events"
    newest = f"; listed first: {quote(listed[0].title)} on {listed[0].occurred_at:%Y-%m-%d}" if listed else ""
    return f"{quote(account.name)} has {count} {noun}{kinds}{of}{when}{newest}."


def _days_text(query: ChangeEventsQuery) -> str:
    if query.start_date and query.end_date:
        return f" from {query.start_date} to {query.end_date}"
    if query.start_date:
        return f" since {query.start_date}"
    return f" up to {query.end_date}" if query.end_date else ""

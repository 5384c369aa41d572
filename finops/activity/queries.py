"""Queries on assistant activity.

Lists read the calls, by an index and only as far as a page needs; all counts come from the counts by day, whose number does
not grow with the calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal

import msgspec
from django.db.models import Q, QuerySet
from msgspec import Meta

from accounts.limits import limit_of
from accounts.models import Account, Membership, Role
from finops.activity.models import DAYS_LIMIT, DEFAULT_DAYS, MOST_DAYS, ActivityRetention, AssistantCall
from finops.lib import clock
from finops.lib.cursors import foreign_cursor_error, key_cursor, key_of
from finops.lib.params import id_of

Sort = Literal["-at", "at", "-milliseconds", "-answer_bytes"]


class ActivityQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of calls in the last days (UTC), including today. Empty: all. `credential` is `kind:id`."""

    days: Annotated[int, Meta(ge=1, le=MOST_DAYS + 1)] = 30
    name: str = ""
    credential: str = ""
    outcome: Literal["", "ok", "error", "refused", "incident"] = ""
    q: str = ""
    sort: Sort = "-at"
    cursor: str = ""

    @property
    def first_day(self) -> date:
        return clock.today() - timedelta(days=self.days - 1)

    @property
    def words(self) -> list[str]:
        return self.q.replace("\0", "").split()[:10]


class ActivityReader(msgspec.Struct, frozen=True):
    """The reader. Calls of apps that a person connected are visible to that person and to admins; those of MCP keys to the
    account."""

    person_id: int
    sees_everybody: bool

    @classmethod
    def of(cls, membership: Membership) -> ActivityReader:
        return cls(membership.user_id, membership.may(Role.ADMIN))


PAGE = 50
EXPORTED_AT_ONCE = 1_000


class CallsPage(msgspec.Struct, frozen=True):
    """Calls in the requested order, and the cursor of the next page, if any."""

    rows: list[AssistantCall]
    next_cursor: str


def calls(account: Account, query: ActivityQuery, reader: ActivityReader, *, limit: int = PAGE) -> CallsPage:
    """Return a page of calls. Raises UserError for a cursor of another query.

    Cost: one query. By time it reads a page by index, or until the search has enough matches; by duration or size it reads
    all calls of the requested days.
    """
    return _page(_matching_calls(query, reader).filter(account=account), query, limit)


def export_calls(account: Account, query: ActivityQuery, reader: ActivityReader) -> Iterator[AssistantCall]:
    """Yield all requested calls, a thousand a query, in constant memory."""
    matches = _matching_calls(query, reader).filter(account=account)
    page = _page(matches, query, EXPORTED_AT_ONCE)
    return _export_pages(matches, query, page)


def _export_pages(
    matches: QuerySet[AssistantCall], query: ActivityQuery, page: CallsPage
) -> Iterator[AssistantCall]:
    yield from page.rows
    while page.next_cursor:
        page = _page(matches, msgspec.structs.replace(query, cursor=page.next_cursor), EXPORTED_AT_ONCE)
        yield from page.rows


def call(account: Account, call_id: int, reader: ActivityReader) -> AssistantCall | None:
    """Return one call, if the reader may see it."""
    return _visible_calls(reader).filter(account=account, pk=call_id).first()


def retention_days(account: Account) -> int:
    row = ActivityRetention.objects.filter(account=account).first()
    return min(row.days if row else DEFAULT_DAYS, limit_of(account, DAYS_LIMIT))


def visible_to(reader: ActivityReader) -> Q:
    """Return the rows, of calls or of counts, that a reader may see."""
    return Q() if reader.sees_everybody else Q(person_id=None) | Q(person_id=reader.person_id)


def selection_of(query: ActivityQuery) -> Q:
    """Return the rows, of calls or of counts, with the requested tool, credential and outcome."""
    condition = Q()
    if query.name:
        condition &= Q(name=query.name)
    if query.credential:
        kind, _, number = query.credential.partition(":")
        credential_id = id_of(number)
        condition &= Q(credential_kind=kind, credential_id=-1 if credential_id is None else credential_id)
    return condition & Q(outcome=query.outcome) if query.outcome else condition


def _visible_calls(reader: ActivityReader) -> QuerySet[AssistantCall]:
    return AssistantCall.objects.filter(visible_to(reader))


def _matching_calls(query: ActivityQuery, reader: ActivityReader) -> QuerySet[AssistantCall]:
    since = datetime.combine(query.first_day, time.min, UTC)
    matches = _visible_calls(reader).filter(selection_of(query), at__gte=since)
    for word in query.words:
        matches = matches.filter(Q(arguments__icontains=word) | Q(problem__icontains=word))
    return matches


def _page(matches: QuerySet[AssistantCall], query: ActivityQuery, limit: int) -> CallsPage:
    field, down = query.sort.removeprefix("-"), query.sort.startswith("-")
    sign = "-" if down else ""
    question = (query.days, query.name, query.credential, query.outcome, query.words, query.sort)
    if key := key_of(query.cursor, *question):
        matches = matches.filter(_after(key, field, down=down, cursor=query.cursor))
    rows = list(matches.order_by(f"{sign}{field}", f"{sign}id")[: limit + 1])
    if len(rows) <= limit:
        return CallsPage(rows, "")
    last = rows[limit - 1]
    value = last.at.isoformat() if field == "at" else repr(getattr(last, field))
    return CallsPage(rows[:limit], key_cursor((value, str(last.pk)), *question))


def _after(key: tuple[str, ...], field: str, *, down: bool, cursor: str) -> Q:
    """Return the rows after the row with this key. A condition on the field alone lets PostgreSQL use the index."""
    try:
        text, pk = key
        value = datetime.fromisoformat(text) if field == "at" else float(text)
        number = int(pk)
    except ValueError as error:
        raise foreign_cursor_error(cursor) from error
    beyond, same = ("lt", "lte") if down else ("gt", "gte")
    return Q(**{f"{field}__{same}": value}) & (
        Q(**{f"{field}__{beyond}": value}) | Q(**{f"id__{beyond}": number})
    )

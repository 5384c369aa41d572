"""Reads on what assistants asked.

Lists read the calls, along the index and only as far as a page goes; everything that counts reads the counts by day,
whose number does not grow with the calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time

import msgspec
from django.db.models import Q, QuerySet

from accounts.models import Account
from finops.activity.models import DEFAULT_DAYS, ActivityRetention, AssistantCall
from finops.activity.question import ActivityQuery, Reader
from finops.lib.cursors import foreign, key_cursor, key_of
from finops.lib.params import id_of

PAGE = 50
EXPORTED_AT_ONCE = 1_000


class CallsPage(msgspec.Struct, frozen=True):
    """Some calls in the order asked for, and the cursor that goes on, or none."""

    rows: list[AssistantCall]
    next_cursor: str


def calls(account: Account, asked: ActivityQuery, reader: Reader, *, limit: int = PAGE) -> CallsPage:
    """A page of calls. Raises UserError for a cursor that is not of this question.

    Cost: one query. By time it reads a page along the index, or until the words of the search were found so often; by
    duration or size it reads the calls of the days asked about.
    """
    return _page(_found(asked, reader).filter(account=account), asked, limit)


def exported(account: Account, asked: ActivityQuery, reader: Reader) -> Iterator[AssistantCall]:
    """All calls asked for, a thousand a query, in constant memory."""
    found = _found(asked, reader).filter(account=account)
    page = _page(found, asked, EXPORTED_AT_ONCE)
    return _rest(found, asked, page)


def _rest(found: QuerySet[AssistantCall], asked: ActivityQuery, page: CallsPage) -> Iterator[AssistantCall]:
    yield from page.rows
    while page.next_cursor:
        page = _page(found, msgspec.structs.replace(asked, cursor=page.next_cursor), EXPORTED_AT_ONCE)
        yield from page.rows


def call(account: Account, call_id: int, reader: Reader) -> AssistantCall | None:
    """One call, if the reader may see it."""
    return _seen_by(reader).filter(account=account, pk=call_id).first()


def retention_days(account: Account) -> int:
    row = ActivityRetention.objects.filter(account=account).first()
    return row.days if row else DEFAULT_DAYS


def seen(reader: Reader) -> Q:
    """The rows, of calls or of counts, that a reader may see."""
    return Q() if reader.sees_everybody else Q(person_id=None) | Q(person_id=reader.person_id)


def chosen(asked: ActivityQuery) -> Q:
    """The rows, of calls or of counts, of the tool, credential and outcome asked for."""
    found = Q()
    if asked.name:
        found &= Q(name=asked.name)
    if asked.credential:
        kind, _, number = asked.credential.partition(":")
        known = id_of(number)
        found &= Q(credential_kind=kind, credential_id=-1 if known is None else known)
    return found & Q(outcome=asked.outcome) if asked.outcome else found


def _seen_by(reader: Reader) -> QuerySet[AssistantCall]:
    return AssistantCall.objects.filter(seen(reader))


def _found(asked: ActivityQuery, reader: Reader) -> QuerySet[AssistantCall]:
    since = datetime.combine(asked.first_day, time.min, UTC)
    found = _seen_by(reader).filter(chosen(asked), at__gte=since)
    for word in asked.words:
        found = found.filter(Q(arguments__icontains=word) | Q(problem__icontains=word))
    return found


def _page(found: QuerySet[AssistantCall], asked: ActivityQuery, limit: int) -> CallsPage:
    field, down = asked.sort.removeprefix("-"), asked.sort.startswith("-")
    sign = "-" if down else ""
    question = (asked.days, asked.name, asked.credential, asked.outcome, asked.words, asked.sort)
    if key := key_of(asked.cursor, *question):
        found = found.filter(_after(key, field, down=down, cursor=asked.cursor))
    rows = list(found.order_by(f"{sign}{field}", f"{sign}id")[: limit + 1])
    if len(rows) <= limit:
        return CallsPage(rows, "")
    last = rows[limit - 1]
    value = last.at.isoformat() if field == "at" else repr(getattr(last, field))
    return CallsPage(rows[:limit], key_cursor((value, str(last.pk)), *question))


def _after(key: tuple[str, ...], field: str, *, down: bool, cursor: str) -> Q:
    """What comes after the row with this key. The bound on the field alone is what the index is entered by."""
    try:
        text, pk = key
        value = datetime.fromisoformat(text) if field == "at" else float(text)
        number = int(pk)
    except ValueError as error:
        raise foreign(cursor) from error
    beyond, same = ("lt", "lte") if down else ("gt", "gte")
    return Q(**{f"{field}__{same}": value}) & (
        Q(**{f"{field}__{beyond}": value}) | Q(**{f"id__{beyond}": number})
    )

"""Change events as a file of JSON lines in the form of pushed events: the result of connectors of change events for a month."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any, Final

import msgspec

from finops.change_events.event_rules import is_web_address
from finops.change_events.models import MAX_ACTOR, MAX_EVENT_ID, MAX_TITLE
from finops.connections.connector import BillMonth, Fetch, SourceError
from finops.connections.transports.pages import digest_of
from finops.connections.transports.recent_months import first_open_month, recent_months
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.periods import month_end, month_start
from finops.lib.sentences import truncate

MAX_EVENTS: Final = 50_000
"""The most events of a month."""


class PulledEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change event in the form of `POST /api/events`."""

    occurred_at: datetime
    kind: str
    title: str
    event_id: str
    actor: str = ""
    url: str = ""
    scope: dict[str, list[str]] = {}

    @property
    def line(self) -> bytes:
        """The event as JSON, with texts of vendors truncated to the allowed length."""
        short = msgspec.structs.replace(
            self,
            occurred_at=self.occurred_at.astimezone(UTC),
            title=truncate(self.title, MAX_TITLE),
            actor=truncate(self.actor, MAX_ACTOR),
            event_id=self.event_id[:MAX_EVENT_ID],
        )
        return msgspec.json.encode(short)

    @property
    def month(self) -> date:
        return month_start(self.occurred_at.astimezone(UTC).date())


EventList = Callable[[date, date], Iterable[PulledEvent]]
"""A function that returns the events of these days (UTC), both inclusive; the result may include events of other days."""


def listed_months(events: EventList) -> list[BillMonth]:
    """Return this month and the twelve before. The fingerprint of an open month is a digest of its events."""
    lines: dict[date, set[str]] = defaultdict(set)
    for event in events(first_open_month(), clock.today()):
        lines[event.month].add(event.line.decode())
    return recent_months(lambda month: digest_of(lines[month]))


def write_month(
    fetch: Fetch,
    month: date,
    events: EventList,
    advice: str = "Choose fewer repositories, kinds or environments.",
) -> list[FocusFile]:
    """Write the file of a month. Raises SourceError with the advice beyond MAX_EVENTS."""
    path, count = fetch.folder / "events.jsonl", 0
    with path.open("wb") as file:
        for event in events(month, month_end(month)):
            if event.month != month:
                continue
            count += 1
            if count > MAX_EVENTS:
                raise SourceError(f"The month has more than {MAX_EVENTS:,} events, the limit. {advice}")
            fetch.progress(file.write(event.line + b"\n"))
    return [FocusFile(path, path.name)] if count else []


def web_address(*candidates: Any) -> str:
    """Return the first candidate that a page may link to; empty if there is none."""
    return next((each for each in candidates if isinstance(each, str) and is_web_address(each)), "")

"""Remarks on events that are accepted, but probably not as their sender means them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from msgspec import Struct

from finops.lake.usage.columns import EventColumns
from finops.lib.sentences import join_first, truncate
from ingestion.parsing import Batch

FIRST_LIKELY: Final = datetime(2000, 1, 1, tzinfo=UTC)
AHEAD: Final = timedelta(days=1)
NAMED: Final = 20
"""Maximum number of ignored fields that are named."""
MAX_NAME: Final = 60


class Remarks(Struct, frozen=True):
    """`unlikely_times`: as of the function. `ignored`: fields of events that are
    not stored; `ignored_fields` the most frequent of them, with their number."""

    unlikely_times: int
    ignored: int
    ignored_fields: Mapping[str, int]

    @classmethod
    def of(cls, batch: Batch, received_at: datetime) -> Self:
        """Return the remarks on the valid events of a batch."""
        fields = batch.ignored
        return cls(unlikely_times(batch.events, received_at), fields.count, most_frequent(fields.names))

    @property
    def warnings(self) -> list[str]:
        times = [unlikely_times_sentence(self.unlikely_times)] if self.unlikely_times else []
        return times + ([ignored_fields_sentence(self.ignored_fields)] if self.ignored_fields else [])


def most_frequent(fields: Mapping[str, int]) -> dict[str, int]:
    """Return the most frequent fields, with names that can be stored and shown."""
    most = sorted(fields.items(), key=lambda item: -item[1])[:NAMED]
    return {truncate(name.replace("\0", ""), MAX_NAME): count for name, count in most}


def unlikely_times(events: EventColumns, received_at: datetime) -> int:
    """Return the number of events before 2000 or more than a day after their receipt."""
    return events.count_outside(FIRST_LIKELY, received_at + AHEAD)


def unlikely_times_sentence(count: int) -> str:
    events = f"{count:,} events are" if count > 1 else "One event is"
    return (
        f"{events} dated before 2000 or more than a day ahead. Check the unit of their timestamps: unix times are "
        "in seconds (10 digits) or milliseconds (13)."
    )


def ignored_fields_sentence(
    names: Iterable[str], choice: str = ", or choose it as such on the source's page"
) -> str:
    return (
        f"Fields of events that are ignored: {join_first(list(names), NAMED)}. If one is the event's ID, send it as "
        f"event_id{choice}; otherwise a retry counts twice."
    )

"""The usage inbox: where accepted events wait in PostgreSQL until a flush makes a segment of them.

An event counts from the commit of its row: queries read inbox and segments in one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection
from msgspec import Struct

from accounts.models import Account


class InboxEvent(Struct, frozen=True, gc=False):
    """One accepted event. `position` is its index in the pushed batch; `dimensions` is a JSON object's text."""

    position: int
    event_time: datetime
    customer_id: str
    metric: str
    unit: str | None
    quantity: Decimal
    dimensions: str | None


# Binary, because the client's half of it is faster than that of text (0.8 ms for 1,000 events against 2.0), and the
# server's no slower. A json column takes its text.
_COPY = (
    "COPY lake_usageinbox (account_id, source_id, batch, position, received_at, event_time, customer_id, metric, "
    "unit, quantity, dimensions) FROM STDIN (FORMAT binary)"
)
_TYPES = (
    *("int8", "int8", "uuid", "int4", "timestamptz", "timestamptz"),
    *("text", "text", "text", "numeric", "text"),
)


def append(
    *, account: Account, source_id: int, batch: UUID, received_at: datetime, events: Iterable[InboxEvent]
) -> None:
    """Store events in the transaction that the caller holds; they count when it commits.

    About 3 µs an event, two thirds of it in PostgreSQL.
    """
    account_id = account.pk
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        copy.set_types(_TYPES)
        write = copy.write_row
        for event in events:
            write(
                (
                    account_id,
                    source_id,
                    batch,
                    event.position,
                    received_at,
                    event.event_time,
                    event.customer_id,
                    event.metric,
                    event.unit,
                    event.quantity,
                    event.dimensions,
                )
            )


def discard(*, account_id: int, source_id: int | None = None) -> None:
    """Remove what waits of an account, or of one source of it: whose it was is being deleted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM lake_usageinbox WHERE account_id = %s AND source_id = coalesce(%s, source_id)",
            [account_id, source_id],
        )

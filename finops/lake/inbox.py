"""The usage inbox: where accepted events wait in PostgreSQL until a flush makes a segment of them.

An event counts from the commit of its row: queries read inbox and segments in one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection

from accounts.models import Account


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """One accepted event. `position` is its index in the pushed batch; `dimensions` is a JSON object's text."""

    position: int
    event_time: datetime
    customer_id: str
    metric: str
    unit: str | None
    quantity: Decimal
    dimensions: str | None


_COPY = (
    "COPY lake_usageinbox (account_id, source_id, batch, position, received_at, event_time, customer_id, metric, "
    "unit, quantity, dimensions) FROM STDIN"
)


def append(
    *, account: Account, source_id: int, batch: UUID, received_at: datetime, events: Iterable[InboxEvent]
) -> None:
    """Store events in the transaction that the caller holds; they count when it commits."""
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for event in events:
            copy.write_row(
                (
                    account.pk,
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

"""Usage events for tests, waiting in the inbox or written into segments, and the same sums in plain Python."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
from django.db import connection, transaction

from accounts.models import Account
from finops.lake import schema
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.usage import inbox, payload
from finops.lib import clock

ALWAYS = (date.min, date.max)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """One event as a test names it."""

    quantity: Decimal = Decimal(1)
    event_time: datetime = NOON
    customer_id: str = "c-1"
    metric: str = "calls"
    unit: str | None = None
    dimensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def day(self) -> date:
        return self.event_time.astimezone(UTC).date()


def push(account: Account, events: Iterable[Event], *, source_id: int = 1) -> uuid.UUID:
    """Let events wait in the inbox, as one batch."""
    batch = uuid.uuid4()
    rows = (
        inbox.InboxEvent(
            position=position,
            event_time=event.event_time,
            customer_id=event.customer_id,
            metric=event.metric,
            unit=event.unit,
            quantity=event.quantity,
            dimensions=json.dumps(event.dimensions) if event.dimensions else None,
        )
        for position, event in enumerate(events)
    )
    with transaction.atomic():
        inbox.append(account=account, source_id=source_id, batch=batch, received_at=clock.now(), events=rows)
    return batch


def write(
    account: Account, events: Sequence[Event], *, source_id: int = 1, keys: Sequence[str] | None = None
) -> segments.NewSegment:
    """A segment of events, of the first one's month; nothing counts it yet."""
    named = dict.fromkeys(key for event in events for key in event.dimensions) if keys is None else keys
    full = schema.segment_schema(Kind.USAGE, list(named))
    rows = [_row(event, place, source_id) for place, event in enumerate(events)]
    return segments.write_segment(
        account_id=account.pk,
        kind=Kind.USAGE,
        source_id=source_id,
        month=events[0].day.replace(day=1),
        batches=pa.Table.from_pylist(rows, schema=full).to_batches(),
        schema=full,
    )


def store(account: Account, events: Sequence[Event], *, source_id: int = 1) -> None:
    """Add a segment of these events beside what is there."""
    new = [write(account, events, source_id=source_id)] if events else []
    segments.add_segments(account=account, kind=Kind.USAGE, source_id=source_id, new=new)


def flush(account: Account, *, source_id: int = 1) -> int:
    """Move what waits into one segment, in one transaction; how many events moved."""
    with transaction.atomic():
        result = [
            Event(
                row["quantity"],
                row["event_time"],
                row["customer_id"],
                row["metric"],
                row["unit"],
                json.loads(row["dimensions"] or "{}"),
            )
            for row in waiting_rows(account)
            if row["source"] == str(source_id)
        ]
        inbox.discard(account_id=account.pk, source_id=source_id)
        store(account, result, source_id=source_id)
    return len(result)


def waiting_rows(account: Account | None = None) -> list[dict[str, Any]]:
    """The events in the inbox, of one account or of all, as they were put there."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT payload, size, events FROM lake_usageinbox WHERE account_id = coalesce(%s, account_id)",
            [account.pk if account else None],
        )
        values = [inbox.payload_of_row(row) for row in cursor.fetchall()]
    rows: list[dict[str, Any]] = payload.decode(values).to_pylist()
    return rows


def delete_usage(account: Account) -> None:
    """Nothing of the account's usage counts any more."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM lake_usageinbox WHERE account_id = %s", [account.pk])
    for source_id in (1, 2):
        segments.retire_source(account=account, kind=Kind.USAGE, source_id=source_id)


def run_query(
    account: Account, build: Any, *keys: str, days: tuple[date, date] = ALWAYS
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = engine.run(
        account, Kind.USAGE, *days, build, tag_keys=list(keys)
    ).to_pylist()
    return rows


def quantity_by(
    account: Account, column: str, *keys: str, days: tuple[date, date] = ALWAYS
) -> dict[Any, Decimal]:
    """Quantities by one column."""
    rows = run_query(
        account, lambda usage: usage.group_by(key=column).agg(q=usage.quantity.sum()), *keys, days=days
    )
    return {row["key"]: row["q"] for row in rows}


def sum_by_key(events: Iterable[tuple[Any, Decimal]]) -> dict[Any, Decimal]:
    """The same, by Python."""
    sums: dict[Any, Decimal] = defaultdict(Decimal)
    with localcontext(prec=60):  # Python's own 28 digits would round
        for key, quantity in events:
            sums[key] += quantity
    return dict(sums)


def _row(event: Event, position: int, source_id: int) -> dict[str, Any]:
    return {
        "event_time": event.event_time,
        "day": event.day,
        "source": str(source_id),
        "customer_id": event.customer_id,
        "metric": event.metric,
        "unit": event.unit,
        "quantity": event.quantity,
        "received_at": clock.now(),
        "batch": str(uuid.UUID(int=0)),
        "position": position,
        **{schema.dimension_column(key): value for key, value in event.dimensions.items()},
    }

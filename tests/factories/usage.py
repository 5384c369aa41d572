"""Usage events for tests, in the lake or pushed into the inbox."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from django.db import connection, transaction

from accounts.models import Account
from finops.lake import schema
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.usage import inbox
from finops.lib import clock
from ingestion.models import Customer, UsageMetric, UsageSource

BATCH = uuid.UUID(int=0)
RECEIVED = datetime(2026, 3, 20, 6, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """One accepted event, identified by (batch, position)."""

    at: datetime
    customer: str
    quantity: Decimal
    metric: str = "requests"
    unit: str | None = None
    dimensions: dict[str, str] = field(default_factory=dict, hash=False)
    received: datetime = RECEIVED
    batch: uuid.UUID = BATCH
    position: int = 0

    @property
    def day(self) -> date:
        return self.at.date()


def event(day: date | datetime, customer: str, quantity: str | int | Decimal, **fields: object) -> Event:
    at = day if isinstance(day, datetime) else datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return Event(at, customer, Decimal(quantity), **fields)  # type: ignore[arg-type]


def usage_source(account: Account, name: str = "Backend") -> UsageSource:
    """Return the account's push source of this name, creating it if needed. The account must be in scope."""
    return UsageSource.objects.get_or_create(account=account, name=name)[0]


def add_metrics(account: Account, events: Sequence[Event], **aggregations: str) -> None:
    """Create the rows of metrics and customers that a push creates. The account must be in scope."""
    for metric in sorted({each.metric for each in events}):
        UsageMetric.objects.update_or_create(
            account=account, name=metric, defaults={"aggregation": aggregations.get(metric, "sum")}
        )
    add_customers(account, events)


def store_usage(account: Account, events: Sequence[Event], *, source: UsageSource) -> None:
    """Replace the contents of the events' months by these events, as segments."""
    months: dict[date, list[Event]] = defaultdict(list)
    for each in events:
        months[each.day.replace(day=1)].append(each)
    keys = list(dict.fromkeys(key for each in events for key in each.dimensions))
    full = schema.segment_schema(Kind.USAGE, keys)
    for month, month_events in months.items():
        table = pa.Table.from_pylist([_row(each, source) for each in month_events], schema=full)
        new = segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=source.pk,
            month=month,
            batches=table.to_batches(),
            schema=full,
        )
        segments.swap_segments(
            account=account, kind=Kind.USAGE, source_id=source.pk, months=[month], new=[new]
        )


def add_usage(account: Account, events: Sequence[Event], **aggregations: str) -> None:
    """Store these events as segments of the source Backend, with their metrics and customers."""
    add_metrics(account, events, **aggregations)
    store_usage(account, events, source=usage_source(account))


def push_events(account: Account, events: Sequence[Event], *, source: UsageSource | None = None) -> None:
    """Store events as a push does: in the inbox, as one batch, positions in order; with their metrics and customers."""
    push_source = source or usage_source(account)
    add_metrics(
        account, [each for each in events if not UsageMetric.objects.filter(name=each.metric).exists()]
    )
    add_customers(account, events)
    batch, received = uuid.uuid4(), clock.now()
    append_to_inbox(
        account,
        [replace(each, batch=batch, received=received, position=place) for place, each in enumerate(events)],
        source=push_source,
    )


def append_to_inbox(account: Account, events: Sequence[Event], *, source: UsageSource) -> None:
    """Append these events unchanged to the inbox."""
    batches: dict[tuple[datetime, uuid.UUID], list[inbox.InboxEvent]] = defaultdict(list)
    for each in events:
        batches[each.received, each.batch].append(
            inbox.InboxEvent(
                position=each.position,
                event_time=each.at,
                customer_id=each.customer,
                metric=each.metric,
                unit=each.unit,
                quantity=each.quantity,
                dimensions=json.dumps(each.dimensions) if each.dimensions else None,
            )
        )
    with transaction.atomic():
        for (received, batch), rows in batches.items():
            inbox.append(account=account, source_id=source.pk, batch=batch, received_at=received, events=rows)


def empty_inbox() -> None:
    """Delete the pending events of all accounts."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM lake_usageinbox")


def add_customers(account: Account, events: Sequence[Event]) -> None:
    for customer in sorted({each.customer for each in events}):
        Customer.objects.get_or_create(account=account, customer_id=customer)


def _row(usage_event: Event, source: UsageSource) -> dict[str, object]:
    columns = {schema.dimension_column(key): value for key, value in usage_event.dimensions.items()}
    return {
        "event_time": usage_event.at,
        "day": usage_event.day,
        "source": str(source.pk),
        "customer_id": usage_event.customer,
        "metric": usage_event.metric,
        "unit": usage_event.unit,
        "quantity": usage_event.quantity,
        "received_at": usage_event.received,
        "batch": str(usage_event.batch),
        "position": usage_event.position,
        **columns,
    }

"""Load the demo's usage: source, customers, metrics, and the events of every day that is not there yet.

Written straight into segments, a month at a time: pushing 125,000 events would take longer and show nothing more.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Any

import pyarrow as pa
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account
from finops.demo.rows import exact
from finops.demo.usage import DIMENSIONS, KNOWN, METRICS, QUANTITY_SCALE, Event, Metric, events_on
from finops.lake import schema
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lib.periods import month_start
from ingestion.models import Customer, UsageBatch, UsageMetric, UsageSource
from ingestion.services import create_usage_source, set_metric

SOURCE_NAME = "Product backend"
PUSHED_AT = time(23, 50)
_BATCHES = uuid.UUID("5d1c7b90-4417-4230-8a00-6c756d656e6c")
_MARK = "seats"
"""The metric that every loaded day has: by its batch a day is known again, also among events that people pushed."""


def usage_source(account: Account, actor: Actor) -> UsageSource:
    """The demo's source of usage, made when it is missing. The account must be in scope."""
    source = UsageSource.objects.filter(name=SOURCE_NAME, kind=UsageSource.Kind.PUSH).first()
    return source or create_usage_source(account=account, actor=actor, name=SOURCE_NAME)


def batch_of(day: date) -> uuid.UUID:
    """The batch that a day's events are of."""
    return uuid.uuid5(_BATCHES, day.isoformat())


def load_usage(account: Account, actor: Actor, first: date, last: date) -> int:
    """Bring the usage from `first` up to `last` into the account in scope; how many events that took.

    Days that are there stay as they are, and so does whatever else was pushed.
    """
    source = usage_source(account, actor)
    _upsert_customers(account, first)
    for metric in METRICS:
        if not UsageMetric.objects.filter(name=metric.name).exists():
            set_metric(
                account=account,
                actor=actor,
                name=metric.name,
                aggregation=metric.aggregation,
                label=metric.label,
            )
    every = (first + timedelta(days=number) for number in range((last - first).days + 1))
    loaded = _stored_batches(account, source, first, last)
    missing = [day for day in every if str(batch_of(day)) not in loaded]
    return sum(_load_month(account, source, list(days)) for _, days in groupby(missing, key=month_start))


def _upsert_customers(account: Account, first: date) -> None:
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    rows = [
        Customer(account=account, customer_id=one.id, name=one.name, first_seen_at=since) for one in KNOWN
    ]
    Customer.objects.bulk_create(rows, ignore_conflicts=True)


def _stored_batches(account: Account, source: UsageSource, first: date, last: date) -> set[str]:
    def batches(usage: Any) -> Any:
        marks = usage.filter((usage.source == str(source.pk)) & (usage.metric == _MARK))
        return marks.group_by("batch").agg(events=marks.count())

    return set(engine.run(account, Kind.USAGE, first, last, batches)["batch"].to_pylist())


def _load_month(account: Account, source: UsageSource, days: Sequence[date]) -> int:
    table = _table(source, days)
    new = segments.write_segment(
        account_id=account.pk,
        kind=Kind.USAGE,
        source_id=source.pk,
        month=month_start(days[0]),
        batches=table.to_batches(),
        schema=table.schema,
    )
    with transaction.atomic():
        segments.add_segments(account=account, kind=Kind.USAGE, source_id=source.pk, new=[new])
        UsageBatch.objects.bulk_create(_ledger(account, source, table))
    return new.rows


def _ledger(account: Account, source: UsageSource, table: pa.Table) -> list[UsageBatch]:
    """The batch of each day as if it had been pushed at the day's end: what is stored is metered."""
    events = table.group_by("day").aggregate([("position", "count")]).to_pylist()
    return [
        UsageBatch(
            id=batch_of(row["day"]),
            account=account,
            source=source,
            received_at=datetime.combine(row["day"], PUSHED_AT, tzinfo=UTC),
            accepted=row["position_count"],
            rejected=0,
            first_day=row["day"],
            last_day=row["day"],
        )
        for row in events
    ]


def _table(source: UsageSource, days: Sequence[date]) -> pa.Table:
    """The events of these days by metric, day and customer, as segments are sorted."""
    places = dict.fromkeys(days, 0)
    rows: list[tuple[Metric, date, int, Event]] = []
    for metric in METRICS:
        for day in days:
            for event in events_on(metric, day):
                rows.append((metric, day, places[day], event))
                places[day] += 1
    midnight = {day: int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) for day in days}
    batches = {day: str(batch_of(day)) for day in days}
    moments = pa.array(
        [(midnight[day] + event.second) * 1_000_000 for _, day, _, event in rows], type=pa.int64()
    ).cast(pa.timestamp("us", tz="UTC"))
    columns: dict[str, Any] = {
        "event_time": moments,
        "day": [day for _, day, _, _ in rows],
        "source": [str(source.pk)] * len(rows),
        "customer_id": [event.customer for *_, event in rows],
        "metric": [event.metric for *_, event in rows],
        "unit": [metric.unit for metric, *_ in rows],
        "quantity": exact([event.quantity for *_, event in rows], QUANTITY_SCALE).cast(schema.QUANTITY),
        "received_at": moments,
        "batch": [batches[day] for _, day, _, _ in rows],
        "position": [place for _, _, place, _ in rows],
        **{
            schema.dimension_column(key): [event.dimensions.get(key) for *_, event in rows]
            for key in DIMENSIONS
        },
    }
    return pa.table(columns, schema=schema.segment_schema(Kind.USAGE, list(DIMENSIONS)))

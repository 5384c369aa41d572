"""Usage events of Lumenly's product by customer: those that its backend would have pushed on a day.

A day is generated from its own seed and the calendar only, like its bills, and by the same shapes and weights: so a customer's
usage changes with its cost. `load_usage` writes the events directly into segments, a month at a time: pushing 125,000 would
take longer and show nothing more.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account
from finops.demo.company import CUSTOMERS, CUSTOMERS_IN_EUROPE, DemoCustomer
from finops.demo.rows import exact
from finops.demo.scenario import SHAPES, anomaly_factors, growth
from finops.lake import schema
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lib.periods import month_start
from ingestion import models
from ingestion.models import UsageBatch, UsageMetric, UsageSource
from ingestion.services import create_usage_source, set_metric

QUANTITY_SCALE = 3

TRIAL = DemoCustomer("cust-041", "Pebble Analytics (trial)", 0.06, False)
"""A trial customer on shared machines: usage without a line of cost."""

ONBOARDING = "cust-040"
"""A customer whose bucket exists and who has not started: cost without usage."""

KNOWN: tuple[DemoCustomer, ...] = (*CUSTOMERS, TRIAL)
USING: tuple[DemoCustomer, ...] = tuple(customer for customer in KNOWN if customer.id != ONBOARDING)

_ENDPOINTS = (("/v1/search", 0.46), ("/v1/documents", 0.31), ("/v1/events", 0.18), ("/v1/export", 0.05))
REVENUE = 2_400
"""Revenue of the largest customer in dollars a day."""

_TOKENS = (("input", 1.0), ("output", 0.11))
DIMENSIONS = ("direction", "endpoint", "model", "plan", "region")


class Event(NamedTuple):
    """One event of a day: `quantity` in 1e-3, `second` of the day."""

    second: int
    customer: str
    metric: str
    quantity: int
    dimensions: dict[str, str]


@dataclass(frozen=True)
class Metric:
    """A metric with its unit, its aggregation, and the events of a day."""

    name: str
    label: str
    unit: str
    aggregation: str
    events: Callable[[DemoCustomer, date, random.Random], Iterator[tuple[dict[str, str], float]]]


@dataclass(frozen=True)
class UsageAnomaly:
    """A planted surprise: a customer's quantity of a metric is `factor` times its normal, each year in these months."""

    name: str
    metric: str
    customer: str
    months: tuple[int, ...]
    day: int
    days: int
    factor: float
    cause: str

    def falls_on(self, day: date) -> bool:
        return day.month in self.months and self.day <= day.day < self.day + self.days


ANOMALIES = (
    UsageAnomaly("import-loop", "documents_processed", "cust-004", (2, 5, 8, 11), 17, 2, 7.0,
                 "Mosaic Retail's importer uploads the same documents again and again."),
    UsageAnomaly("crawler", "requests", "cust-010", (1, 3, 5, 7, 9, 11), 9, 1, 12.0,
                 "A crawler of Sable Airlines' own site hits the search; the cost hardly moves."),
)  # fmt: skip


def plan_of(customer: DemoCustomer) -> str:
    if customer is TRIAL:
        return "trial"
    return "enterprise" if customer.dedicated else "business" if customer.weight > 0.1 else "starter"


@cache
def _home(customer: DemoCustomer) -> dict[str, str]:
    region = "eu-west-1" if customer.id in CUSTOMERS_IN_EUROPE else "us-east-1"
    return {"plan": plan_of(customer), "region": region}


@cache
def _traffic(day: date, region: str) -> float:
    # The outage of the EU region that the bills show is one of the product there.
    return SHAPES["traffic"](day) * (
        anomaly_factors(day).get("cosmos-eu", 1.0) if region == "eu-west-1" else 1.0
    )


def _load(customer: DemoCustomer, day: date, rng: random.Random) -> float:
    return customer.weight * _traffic(day, _home(customer)["region"]) * (1 + (rng.random() * 2 - 1) * 0.06)


def _requests(
    customer: DemoCustomer, day: date, rng: random.Random
) -> Iterator[tuple[dict[str, str], float]]:
    for endpoint, share in _ENDPOINTS:
        yield {"endpoint": endpoint, **_home(customer)}, round(900_000 * share * _load(customer, day, rng))


def _documents(
    customer: DemoCustomer, day: date, rng: random.Random
) -> Iterator[tuple[dict[str, str], float]]:
    yield _home(customer), round(14_000 * _load(customer, day, rng))


def _tokens(customer: DemoCustomer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """Tokens of customers with an API key of their own, as the AI vendor bills them."""
    if customer.dedicated:
        load = _load(customer, day, rng)
        for direction, share in _TOKENS:
            yield {"model": "claude-haiku-4-5", "direction": direction}, round(30_000_000 * share * load)


def _seats(customer: DemoCustomer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """Seats: contracts change on the first of a month."""
    yield {"plan": plan_of(customer)}, int((8 + 400 * customer.weight) * growth(month_start(day)))


def _revenue(customer: DemoCustomer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """The invoiced revenue of the day, by the contract; none for a trial."""
    if customer is not TRIAL:
        yield {"plan": plan_of(customer)}, round(REVENUE * customer.weight * growth(month_start(day)), 2)


def _storage(customer: DemoCustomer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    yield {}, 9_000 * customer.weight * SHAPES["stored"](day)


METRICS = (
    Metric("requests", "API requests", "request", "sum", _requests),
    Metric("documents_processed", "Documents processed", "document", "sum", _documents),
    Metric("tokens", "Assistant tokens", "token", "sum", _tokens),
    Metric("seats", "Seats", "seat", "average_of_days", _seats),
    Metric("revenue", "Revenue", "USD", "sum", _revenue),
    Metric("storage", "Stored data", "GB", "last", _storage),
)


def events_on(metric: Metric, day: date) -> Iterator[Event]:
    """The events of one metric on one day, customer by customer."""
    rng = random.Random(f"lumenly/usage/{metric.name}/{day}")  # noqa: S311 demo data, no secret
    odd = {
        anomaly.customer: anomaly.factor
        for anomaly in ANOMALIES
        if anomaly.metric == metric.name and anomaly.falls_on(day)
    }
    for customer in USING:
        for dimensions, quantity in metric.events(customer, day, rng):
            counted = round(quantity * odd.get(customer.id, 1.0) * 10**QUANTITY_SCALE)
            # The backend counts up to the evening and pushes then.
            yield Event(rng.randrange(72_000, 86_400), customer.id, metric.name, counted, dimensions)


SOURCE_NAME = "Product backend"
PUSHED_AT = time(23, 50)
_BATCHES = uuid.UUID("5d1c7b90-4417-4230-8a00-6c756d656e6c")
_MARK = "seats"
"""The metric that every loaded day has: its batch identifies a loaded day, also among events that people pushed."""


def usage_source(account: Account, actor: Actor) -> UsageSource:
    """Return the demo's source of usage, creating it when it is missing. The account must be in scope."""
    source = UsageSource.objects.filter(name=SOURCE_NAME, kind=UsageSource.Kind.PUSH).first()
    return source or create_usage_source(account=account, actor=actor, name=SOURCE_NAME)


def batch_of(day: date) -> uuid.UUID:
    """The batch of a day's events."""
    return uuid.uuid5(_BATCHES, day.isoformat())


def load_usage(account: Account, actor: Actor, first: date, last: date) -> int:
    """Bring the usage from `first` up to `last` into the account in scope and return how many events were added.

    Existing days do not change, and neither do other pushed events.
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
        models.Customer(account=account, customer_id=customer.id, name=customer.name, first_seen_at=since)
        for customer in KNOWN
    ]
    models.Customer.objects.bulk_create(rows, ignore_conflicts=True)


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
    """Return the batch of each day as if it had been pushed at the day's end: stored usage is metered."""
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

"""What Lumenly's product counts of its customers: the events that its backend would have pushed on a day.

A day is made from its own seed and the calendar alone, as its bills are, and by the same shapes and weights: so a
customer's usage moves with what it costs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import NamedTuple

from finops.demo.company import CUSTOMERS, Customer
from finops.demo.story import SHAPES, growth, surprises
from finops.lib.periods import month_start

QUANTITY_SCALE = 3

TRIAL = Customer("cust-041", "Pebble Analytics (trial)", 0.06, False)
"""Uses the product on shared machines: usage without a line of cost."""

ONBOARDING = "cust-040"
"""Has its bucket already and has not begun: cost without usage."""

KNOWN: tuple[Customer, ...] = (*CUSTOMERS, TRIAL)
USING: tuple[Customer, ...] = tuple(customer for customer in KNOWN if customer.id != ONBOARDING)

_IN_EUROPE = ("cust-003", "cust-006", "cust-014", "cust-022")
_ENDPOINTS = (("/v1/search", 0.46), ("/v1/documents", 0.31), ("/v1/events", 0.18), ("/v1/export", 0.05))
REVENUE = 2_400
"""Dollars a day that the largest customer pays."""

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
    """A metric with its unit, how it adds up, and the events of a day."""

    name: str
    label: str
    unit: str
    aggregation: str
    events: Callable[[Customer, date, random.Random], Iterator[tuple[dict[str, str], float]]]


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


def plan_of(customer: Customer) -> str:
    if customer is TRIAL:
        return "trial"
    return "enterprise" if customer.dedicated else "business" if customer.weight > 0.1 else "starter"


@cache
def _home(customer: Customer) -> dict[str, str]:
    region = "eu-west-1" if customer.id in _IN_EUROPE else "us-east-1"
    return {"plan": plan_of(customer), "region": region}


@cache
def _traffic(day: date, region: str) -> float:
    # The outage of the EU region that the bills show is one of the product there.
    return SHAPES["traffic"](day) * (surprises(day).get("cosmos-eu", 1.0) if region == "eu-west-1" else 1.0)


def _load(customer: Customer, day: date, rng: random.Random) -> float:
    return customer.weight * _traffic(day, _home(customer)["region"]) * (1 + (rng.random() * 2 - 1) * 0.06)


def _requests(customer: Customer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    for endpoint, share in _ENDPOINTS:
        yield {"endpoint": endpoint, **_home(customer)}, round(900_000 * share * _load(customer, day, rng))


def _documents(customer: Customer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    yield _home(customer), round(14_000 * _load(customer, day, rng))


def _tokens(customer: Customer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """The assistant of customers with a key of their own: what the AI vendor bills for them."""
    if customer.dedicated:
        load = _load(customer, day, rng)
        for direction, share in _TOKENS:
            yield {"model": "claude-haiku-4-5", "direction": direction}, round(30_000_000 * share * load)


def _seats(customer: Customer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """Contracts change on the first of a month."""
    yield {"plan": plan_of(customer)}, int((8 + 400 * customer.weight) * growth(month_start(day)))


def _revenue(customer: Customer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """What is invoiced for the day, by the contract; a trial pays nothing."""
    if customer is not TRIAL:
        yield {"plan": plan_of(customer)}, round(REVENUE * customer.weight * growth(month_start(day)), 2)


def _storage(customer: Customer, day: date, rng: random.Random) -> Iterator[tuple[dict[str, str], float]]:
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
    rng = random.Random(f"lumenly/usage/{metric.name}/{day}")  # noqa: S311 a story, no secret
    odd = {one.customer: one.factor for one in ANOMALIES if one.metric == metric.name and one.falls_on(day)}
    for customer in USING:
        for dimensions, quantity in metric.events(customer, day, rng):
            counted = round(quantity * odd.get(customer.id, 1.0) * 10**QUANTITY_SCALE)
            # The backend counts up to the evening and pushes then.
            yield Event(rng.randrange(72_000, 86_400), customer.id, metric.name, counted, dimensions)

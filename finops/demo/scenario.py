"""Events in Lumenly's history, as pure functions of the calendar.

Everything is anchored to absolute dates, never to today: the cost of a day is the same whatever day it is generated on. Events
repeat with the calendar, so that any thirteen months have the same kind of events.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

EPOCH = date(2025, 1, 1)
_YEARLY_GROWTH = 0.34


def _years(day: date) -> float:
    return (day - EPOCH).days / 365.25


@cache
def growth(day: date) -> float:
    """Business volume, 1 at the epoch, about a third of that more each year, with a slow oscillation."""
    return max(0.2, 1 + _YEARLY_GROWTH * _years(day) + 0.03 * math.sin(2 * math.pi * _years(day) * 2))


@cache
def week(day: date) -> float:
    """Weekly pattern: business customers work on weekdays; over the turn of the year few do."""
    factor = (1.06, 1.08, 1.07, 1.05, 0.98, 0.62, 0.58)[day.weekday()]
    quiet = (day.month, day.day) >= (12, 24) or (day.month, day.day) <= (1, 1)
    return factor * (0.72 if quiet else 1)


def _month_end(day: date) -> float:
    """Invoice runs: the last two days of a month and the first of the next."""
    last = calendar.monthrange(day.year, day.month)[1]
    return 1.0 if day.day == 1 or day.day >= last - 1 else 0.0


def migrated_share(day: date) -> float:
    """The share of the warehouse that runs on BigQuery and no longer on Redshift.

    It moves there from April to July of even years, and the other way in odd years.
    """
    start, end = date(day.year, 4, 1), date(day.year, 7, 31)
    done = min(1.0, max(0.0, (day - start).days / (end - start).days))
    return done if day.year % 2 == 0 else 1 - done


def _office(day: date) -> float:
    """Ten hours of a weekday, nothing at weekends: for environments that a schedule turns off."""
    return 10 / 24 if day.weekday() < 5 else 0.0


def _people(day: date) -> float:
    """Manual work: hardly any at weekends."""
    return growth(day) * (1.0 if day.weekday() < 5 else 0.12)


def _storage(day: date) -> float:
    """Storage without deletions."""
    return max(0.1, 1 + 0.55 * _years(day))


def _training(day: date) -> float:
    """Model training: one week of a month, more of it every year."""
    return growth(day) if 8 <= day.day <= 14 else 0.0


SHAPES: dict[str, Callable[[date], float]] = {
    "always": lambda day: 1.0,
    "office": _office,
    "people": _people,
    "traffic": lambda day: growth(day) * week(day),
    "volume": growth,
    "stored": _storage,
    "month_end": lambda day: growth(day) * _month_end(day),
    "training": _training,
    "leaving": lambda day: growth(day) * (1 - migrated_share(day)),
    "arriving": lambda day: growth(day) * migrated_share(day),
}

# How much a quantity wanders from its shape, either way.
NOISE: dict[str, float] = {
    "always": 0.0,
    "office": 0.0,
    "people": 0.18,
    "traffic": 0.06,
    "volume": 0.03,
    "stored": 0.0,
    "month_end": 0.05,
    "training": 0.1,
    "leaving": 0.04,
    "arriving": 0.04,
}


@dataclass(frozen=True)
class DemoAnomaly:
    """A planted surprise: the named workload's usage is `factor` times its normal for `days` days from `start`."""

    name: str
    source: str
    service: str
    workload: str
    start: date
    days: int
    factor: float
    cause: str

    @property
    def end(self) -> date:
        return self.start + timedelta(days=self.days - 1)


@dataclass(frozen=True)
class _Plan:
    name: str
    source: str
    service: str
    workload: str
    months: tuple[int, ...]
    day: int
    days: int
    factor: float
    cause: str


_PLANS: tuple[_Plan, ...] = (
    _Plan("nat-loop", "aws", "Amazon Virtual Private Cloud", "nat-prod-a", (2, 5, 8, 11), 11, 3, 7.0,
          "A retrying exporter sends its data through the NAT gateway instead of the endpoint."),
    _Plan("debug-logs", "aws", "Amazon CloudWatch", "logs-payments-api", (3, 6, 9, 12), 24, 2, 14.0,
          "Debug logging left on after an incident in payments."),
    _Plan("agent-loop", "anthropic", "Claude API", "key-agent-research", (1, 4, 7, 10), 17, 1, 18.0,
          "An agent runs in a loop overnight with one API key."),
    _Plan("full-scan", "gcp", "BigQuery", "bq-analysis", (2, 4, 6, 8, 10, 12), 6, 1, 9.0,
          "An analyst's scheduled query without a partition filter."),
    _Plan("forgotten-gpu", "aws", "Amazon Elastic Compute Cloud", "gpu-sandbox", (1, 3, 5, 7, 9, 11), 14, 4, 24.0,
          "A GPU machine in the sandbox stays on after a test."),
    _Plan("cosmos-outage", "azure", "Azure Cosmos DB", "cosmos-eu", (1, 7), 22, 1, 0.25,
          "An outage of the EU region: a day with hardly any requests."),
)  # fmt: skip


def anomalies(start: date, end: date) -> list[DemoAnomaly]:
    """The planted anomalies that overlap the days from start to end, both inclusive, oldest first."""
    planted = [
        DemoAnomaly(plan.name, plan.source, plan.service, plan.workload, date(year, month, plan.day), plan.days,
                plan.factor, plan.cause)
        for year in range(start.year - 1, end.year + 1)
        for plan in _PLANS
        for month in plan.months
    ]  # fmt: skip
    touching = [anomaly for anomaly in planted if anomaly.start <= end and anomaly.end >= start]
    return sorted(touching, key=lambda anomaly: (anomaly.start, anomaly.name))


def anomaly_factors(day: date) -> dict[str, float]:
    """Factor by workload, for the workloads with an anomaly on that day."""
    return {anomaly.workload: anomaly.factor for anomaly in anomalies(day, day)}

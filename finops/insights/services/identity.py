"""Which anomaly of before a finding is. By scope and days, so that one that grows, or is restated, stays the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from finops.insights.models import Anomaly

NEAR = timedelta(days=1)


@dataclass(frozen=True)
class Scope:
    """Where an anomaly is, and which way it goes."""

    source_id: int
    dimension: str
    value: str
    currency: str
    up: bool

    @classmethod
    def of(cls, row: Anomaly) -> Scope:
        return cls(row.source_id, row.dimension, row.value, row.currency, row.impact >= 0)


def key_of(scope: Scope, first: date) -> str:
    """The id: the same for the same scope and day, whenever and wherever it is found first."""
    parts = [scope.source_id, scope.dimension, scope.value, scope.currency, scope.up, first]
    return f"anom_{hashlib.blake2s(repr([str(each) for each in parts]).encode(), digest_size=8).hexdigest()}"


def match(rows: Iterable[Anomaly], spans: Sequence[tuple[date, date]]) -> list[Anomaly | None]:
    """For each span of days the oldest row that it overlaps or touches, each row once."""
    free = sorted(rows, key=lambda row: (row.first_day, row.pk))
    matches: list[Anomaly | None] = []
    for first, last in spans:
        same = next(
            (row for row in free if row.first_day <= last + NEAR and row.last_day >= first - NEAR), None
        )
        matches.append(same)
        if same is not None:
            free.remove(same)
    return matches

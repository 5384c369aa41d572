"""One account at its full limit: continuous pushes, a worker that flushes and merges, and queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from uuid import uuid4

from django.db import connection, transaction

from accounts.models import Account
from benchmarks.table import Row
from finops.lake.engine import engine
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.usage import flush, flush_scheduler, inbox
from finops.lake.usage.inbox import InboxEvent
from finops.lib import clock

EVENTS_A_SECOND = 16_700
BEAT_SECONDS = 3.0
MARCH = datetime(2025, 3, 1, tzinfo=UTC)
YEAR = (date(2025, 1, 1), date(2025, 12, 31))


def at_full_limit(seconds: int) -> list[Row]:
    """Run two pushes per second of 8,350 events each, without the endpoint; returns the duration of a query in each
    quarter of the time."""
    account = Account.objects.create(name="full", slug="usage-full")
    world = _World(account, seconds)
    quarters = world.run()
    return [{"an account at its full limit": f"{seconds} s", **quarter} for quarter in quarters]


class _World:
    def __init__(self, account: Account, seconds: int) -> None:
        self.account = account
        self.seconds = seconds
        self.began = time.monotonic()
        self.end = self.began + seconds
        self.over = threading.Event()
        self.flushed = self.flushing = 0.0

    def run(self) -> list[Row]:
        with ThreadPoolExecutor(2) as threads:
            futures = [threads.submit(_closing, work) for work in (self.push, self.work)]
            quarters = [self.measure_quarter(number) for number in range(4)]
            self.over.set()
        for each in futures:
            each.result()
        return quarters

    def push(self) -> None:
        turn = 0
        while not self.over.is_set():
            push(self.account, EVENTS_A_SECOND // 2)
            turn += 1
            self.over.wait(max(0.0, self.began + turn / 2 - time.monotonic()))

    def work(self) -> None:
        while not self.over.wait(BEAT_SECONDS):
            start = perf_counter()
            done = flush_scheduler.flush_if_due(self.account)
            if done is not None:
                self.flushed += done.events
                self.flushing += perf_counter() - start

    def measure_quarter(self, quarter: int) -> Row:
        latencies, pending_counts, due = [], [], []
        until = self.began + self.seconds * (quarter + 1) / 4
        while time.monotonic() < until:
            latencies.append(_time(lambda: engine.run(self.account, Kind.USAGE, *YEAR, by_customer)))
            due.append(_time(flush_scheduler.due_accounts))
            pending_counts.append(flush.count_pending(self.account))
            self.over.wait(0.5)
        live = LakeSegment.objects.unscoped().filter(account=self.account, retired_at=None)
        return {
            "quarter": quarter + 1,
            "query ms": median(latencies),
            "who is due ms": median(due),
            "waiting, maximum": max(pending_counts),
            "inbox MB": _inbox_bytes() / 10**6,
            "segments": live.count(),
            "process MB": _resident() / 10**6,
            "flush and merge events/s": round(self.flushed / self.flushing) if self.flushing else 0,
        }


def by_customer(usage: Any) -> Any:
    return usage.filter(usage.metric == "requests").group_by("customer_id").agg(quantity=usage.quantity.sum())


def push(account: Account, count: int) -> None:
    """Let so many events of March wait, without HTTP, a thousand to a push."""
    for first in range(0, count, inbox.ROW_EVENTS):
        with transaction.atomic():
            inbox.append(
                account=account,
                source_id=1,
                batch=uuid4(),
                received_at=clock.now(),
                events=_events(min(inbox.ROW_EVENTS, count - first), first),
            )


@lru_cache(maxsize=300)
def _events(count: int, first: int) -> list[InboxEvent]:
    return [_event(number, number - first) for number in range(first, first + count)]


def _event(number: int, position: int) -> InboxEvent:
    return InboxEvent(
        position=position,
        event_time=MARCH + timedelta(seconds=8 * number),
        customer_id=f"c-{number * 7919 % 500}",
        metric=("requests", "tokens", "seats")[number % 3],
        unit="unit",
        quantity=Decimal(number * 104729 % 100_000) / 100,
        dimensions=f'{{"plan":"plan-{number % 4}","region":"r-{number % 9}","endpoint":"/v1/{number % 40}"}}',
    )


def _time(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return (perf_counter() - start) * 1_000


def _inbox_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('lake_usageinbox')")
        return int(cursor.fetchone()[0])


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def _closing(work: Callable[[], None]) -> None:
    try:
        work()
    finally:
        connection.close()

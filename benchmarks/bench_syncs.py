"""Syncs: the requests of checking an unchanged source, and the wait of 200 sources that are due at the same time.

Measured from the time when all are due until the last is checked, with the worker's three programs and beat running
as in production (beat checks every 15 s). The sources are folders of FOCUS files, ten per account, one month each.
BENCH_SYNCS_ROUNDS sets the number of rounds (3).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from django.conf import settings

from accounts.models import Account
from benchmarks.bench_lanes import ACTOR, _account, _programs, _wait
from benchmarks.table import Row
from finops.connections import services
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection, CostSync
from finops.lib import clock
from tests.factories.bill_text import HEADER, month_of

ROUNDS = int(os.environ.get("BENCH_SYNCS_ROUNDS", "3"))
ACCOUNTS, SOURCES = 20, 10
MONTHS = ("2026-05",)
LONG_MONTHS = tuple(f"2025-{month:02d}" for month in range(1, 13))
LONG_LINES = 800_000
LIMIT_SECONDS = 300.0


def measure() -> list[Row]:
    folder = Path(settings.VAR_DIR) / "bench-sources"
    settings.CONNECTION_FOLDERS = [str(folder)]
    os.environ["CONNECTION_FOLDERS"] = str(folder)
    accounts = [_account(f"bench-syncs-{number}") for number in range(ACCOUNTS)]
    connections = [
        _connect(account, folder / f"{account.slug}-{number}", MONTHS, 30)
        for account in accounts
        for number in range(SOURCES)
    ]
    first = time.perf_counter()
    _run_all()
    first_seconds = time.perf_counter() - first
    rows: list[Row] = [
        {
            "sources": len(connections),
            "first sync per source, s": first_seconds / len(connections),
            **_calls(connections[0]),
        }
    ]
    with _programs():
        single = [_check_seconds() for _ in range(ROUNDS + 1)][1:]
        beside = []
        for number in range(ROUNDS):
            for account in accounts[:2]:
                _connect(account, folder / f"{account.slug}-years-{number}", LONG_MONTHS, LONG_LINES)
            _wait(lambda: _reading().count() == 2)
            beside.append(_check_seconds())
            assert _reading().count() == 2, "the long syncs were over before"
            _wait(lambda: not _reading().exists())
    for name, seconds in (("nothing", single), ("two sources that read a year", beside)):
        rows.append(
            {
                "200 due at once, beside": name,
                "seconds, median": median(seconds),
                "maximum": max(seconds),
                "within 5 minutes": max(seconds) <= LIMIT_SECONDS,
            }
        )
    return rows


def _connect(account: Account, folder: Path, months: tuple[str, ...], lines: int) -> CostConnection:
    for month in months:
        path = folder / f"BILLING_PERIOD={month}"
        path.mkdir(parents=True)
        text = month_of(month)
        path.joinpath("focus.csv").write_text("\n".join([HEADER, *(text * (lines // len(text) + 1))]) + "\n")
    return services.create_connection(
        account=account, actor=ACTOR, name=folder.name, connector="folder", values={"folder": str(folder)}
    )


def _run_all() -> None:
    for _task, _account_id, sync_id in services.unfinished_syncs():
        services.run_sync(sync_id)
    # Unscoped: every account of the benchmark.
    failed = CostSync.objects.unscoped().filter(status="failed").first()
    assert failed is None, failed.error


def _calls(connection: CostConnection) -> dict[str, int]:
    """Return the connector calls of one sync of a source without new data."""
    counts: dict[str, int] = {}
    with _count_calls(type(connector_of("folder")), counts):
        sync = services.queue_sync(connection=connection, actor=ACTOR)
        assert not services.check_for_changes(sync.pk)
    return {f"unchanged: {name}": count for name, count in counts.items()}


@contextmanager
def _count_calls(kind: Any, counts: dict[str, int]) -> Iterator[None]:
    def counting(name: str) -> Any:
        original = getattr(kind, name)
        counts[name] = 0

        def call(*arguments: Any) -> Any:
            counts[name] += 1
            return original(*arguments)

        return call

    with patch.multiple(kind, **{name: counting(name) for name in ("months", "month", "fetch")}):
        yield


def _check_seconds() -> float:
    """Return the seconds until each connection has been checked."""
    # Unscoped: every account of the benchmark.
    due = CostConnection.objects.unscoped().exclude(source__name__contains="years")
    _wait(
        lambda: (
            not CostSync.objects.unscoped()
            .filter(connection__in=due, status__in=["queued", "running"])
            .exists()
        )
    )
    start, moment = time.perf_counter(), clock.now()
    due.update(next_sync_at=moment)
    _wait(lambda: not due.exclude(last_success_at__gte=moment).exists())
    return time.perf_counter() - start


def _reading() -> Any:
    # Unscoped: every account of the benchmark.
    rows = CostSync.objects.unscoped().filter(connection__source__name__contains="years")
    return rows.filter(status="running", months_listed__gt=0)

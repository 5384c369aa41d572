"""What the processes of a test do against a PostgreSQL that is killed: `python -m tests.finops.lake.outages NAME FILE`.

Each goes on after an outage until it is ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVENTS = 25


def prepare(file: Path) -> None:
    from accounts.models import Account
    from tests.database_template import migrate

    migrate(os.environ["DATABASE_URL"])
    Account.objects.create(name="Outage", slug="outage")
    file.write_text("")


def push(file: Path) -> None:
    """Push batches, and write down each that was acknowledged."""
    from datetime import timedelta

    from tests.finops.lake.events import NOON, Event, push

    account = _account()
    events = [Event(event_time=NOON + timedelta(days=31 * (n % 2))) for n in range(EVENTS)]

    def work() -> None:
        log.write(f"{push(account, events)}\n")
        log.flush()

    with file.open("a") as log:
        _again_and_again(work)


def flush(file: Path) -> None:
    """Flush and merge, and write down how often it worked."""
    from finops.lake.usage.compaction import merge_usage
    from finops.lake.usage.flush import flush_usage

    account = _account()

    def work() -> None:
        flushed = flush_usage(account)
        merge_usage(account)
        log.write("x" if flushed.events else "")
        log.flush()

    with file.open("a") as log:
        _again_and_again(work)


def count(file: Path) -> None:
    """Write down how many events of each batch count."""
    from collections import Counter

    from tests.finops.lake.events import run_query

    rows = run_query(_account(), lambda usage: usage.select("batch", "position").distinct())
    table = run_query(_account(), lambda usage: usage.select("batch", "position"))
    assert len(rows) == len(table), "an event counts twice"
    file.write_text(json.dumps(Counter(row["batch"] for row in table)))


def _account() -> Any:
    from accounts.models import Account

    return Account.objects.get(slug="outage")


def _again_and_again(work: Callable[[], object]) -> None:
    from django.db import DatabaseError, connection

    while True:
        try:
            work()
        except DatabaseError:
            connection.close()
            time.sleep(0.05)  # what a process does between its tries


WORK = {each.__name__: each for each in (prepare, push, flush, count)}

if __name__ == "__main__":
    import django

    django.setup()
    WORK[sys.argv[1]](Path(sys.argv[2]))

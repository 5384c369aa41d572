"""Usage that is pulled against the same events pushed: a month of 1,000,000 rows (BENCH_USAGE_PULL_ROWS), a day of each in turns.

*Pushed* are whole requests of 1,000 events in this process: key, rate limit, JSON, rules, storing, commit. *Pulled, stored* is
`store_usage_day` of a day's file: the same rules and storing, and the digest by which a day that is read again is left alone.
*Pulled, with its file* adds what the connector's process does before: rows to a file of JSON lines. Limit: 0.8 of pushed.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import RequestFactory

from accounts.audit import Actor
from accounts.models import Account
from accounts.services import create_account
from benchmarks.push_events import BATCH, CUSTOMERS
from benchmarks.table import Row
from finops.connections.connector import Fetch
from finops.connections.transports.json_lines import usage_files
from ingestion import services
from ingestion.models import UsageBatch, UsageDay, UsageSource
from ingestion.services.pulls import store_usage_day
from ingestion.views.push import PATH, push

ROWS = int(os.environ.get("BENCH_USAGE_PULL_ROWS", "1000000"))
MONTH = date(2026, 10, 1)
DAYS = 31
LEAST = 0.8


class UsageRow(NamedTuple):
    customer: str
    name: str
    metric: str
    quantity: Decimal
    moment: datetime
    dimensions: dict[str, str]


class Clock:
    """Wall-clock seconds and processor seconds of alternating actions."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0

    def run(self, action: Callable[[], Any]) -> Any:
        start, used = perf_counter(), process_time()
        result = action()
        self.seconds += perf_counter() - start
        self.cpu += process_time() - used
        return result


def measure() -> list[Row]:
    settings.USAGE_RATE_LIMIT_PER_MINUTE = 10**7
    owner = get_user_model().objects.create_user("usage-pull@example.com")
    account = create_account(name="Bench", owner=owner, slug="bench-usage-pull")
    actor = Actor.command("bench")
    pushed = services.create_usage_source(account=account, actor=actor, name="Pushed")
    key = services.generate_usage_key(source=pushed, actor=actor)[1]
    pulled = services.create_usage_source(account=account, actor=actor, name="Pulled")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        return list(_rates(account, pulled, key, Path(folder)))


def _rates(account: Account, source: UsageSource, key: str, folder: Path) -> Iterator[Row]:
    by_push, by_file, by_store, again = Clock(), Clock(), Clock(), Clock()
    each_day = -(-ROWS // DAYS)
    for number in range(DAYS):
        day = MONTH + timedelta(days=number)
        rows = _rows(day, min(each_day, ROWS - number * each_day))
        bodies = [_body(rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
        path = by_file.run(lambda: _file(rows, folder / str(number)))  # noqa: B023 called at once
        turns = [
            lambda: by_push.run(lambda: _push(bodies, key)),  # noqa: B023
            lambda: by_store.run(lambda: store_usage_day(source=source, day=day, path=path)),  # noqa: B023
        ]
        for turn in turns if number % 2 else reversed(turns):
            turn()
        again.run(lambda: store_usage_day(source=source, day=day, path=path))  # noqa: B023
    stored = sum(UsageDay.objects.unscoped().filter(source=source).values_list("events", flat=True))
    metered = sum(UsageBatch.objects.unscoped().filter(source=source).values_list("accepted", flat=True))
    assert (stored, metered, _waiting(account)) == (ROWS, ROWS, 2 * ROWS)
    push_rate = ROWS / by_push.seconds
    whole = by_store.seconds + by_file.seconds
    for name, seconds, cpu in (
        ("pushed", by_push.seconds, by_push.cpu),
        ("pulled, stored", by_store.seconds, by_store.cpu),
        ("pulled, with its file", whole, by_store.cpu + by_file.cpu),
        ("pulled again, unchanged", again.seconds, again.cpu),
    ):
        rate = ROWS / seconds
        yield {
            f"{ROWS:,} rows": name,
            "rows/s": round(rate),
            "ratio to pushed": rate / push_rate,
            "ratio to pushed, by CPU": by_push.cpu / cpu,
            f"at least {LEAST}": rate / push_rate >= LEAST,
        }


def _rows(day: date, count: int) -> list[UsageRow]:
    chance = random.Random(day.toordinal())
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return [
        UsageRow(
            f"cust-{(customer := chance.randrange(CUSTOMERS)):04}",
            f"Customer {customer}",
            chance.choice(("api_requests", "orders", "gigabytes")),
            Decimal(chance.randrange(100_000)).scaleb(-3),
            midnight + timedelta(seconds=chance.randrange(86_400)),
            {
                "region": chance.choice(("eu-west-1", "us-east-1")),
                "plan": chance.choice(("free", "pro", "enterprise")),
                "endpoint": chance.choice(("/v1/search", "/v1/orders")),
            },
        )
        for _ in range(count)
    ]


def _body(rows: Sequence[UsageRow]) -> bytes:
    events = [
        {
            "customer_id": each.customer,
            "customer_name": each.name,
            "metric": each.metric,
            "unit": "units",
            "quantity": float(each.quantity),
            "dimensions": each.dimensions,
            "timestamp": each.moment.isoformat(),
        }
        for each in rows
    ]
    return json.dumps({"events": events}).encode()


def _push(bodies: Sequence[bytes], key: str) -> None:
    factory, headers = RequestFactory(), {"authorization": f"Bearer {key}"}
    for body in bodies:
        answer = push(factory.post(PATH, body, content_type="application/json", headers=headers))
        assert answer.status_code == 200


def _file(rows: Sequence[UsageRow], folder: Path) -> Path:
    folder.mkdir()
    with usage_files(Fetch(folder), MONTH) as files:
        for each in rows:
            files.add(
                customer=each.customer,
                name=each.name,
                metric=each.metric,
                unit="units",
                quantity=each.quantity,
                moment=each.moment,
                dimensions=each.dimensions,
            )
    (file,) = files.files()
    return file.path


def _waiting(account: Account) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(events) FROM lake_usageinbox WHERE account_id = %s", [account.pk])
        return int(cursor.fetchone()[0])

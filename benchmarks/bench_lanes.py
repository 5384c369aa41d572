"""Duration of one tenant's flush while others upload and merge, with the worker's three programs and beat running as
in production.

Measured from the last commit of 60,000 pending events until none is pending, including up to 3 s until beat's next
check. The cases take turns. BENCH_LANES_ROUNDS sets the number of rounds (5).
"""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks.bench_usage_lake import _write
from benchmarks.push_events import BATCH, bodies
from benchmarks.table import Row
from finops.lake.usage import inbox
from finops.lake.usage.flush import count_pending
from finops.lake.usage.flush_scheduler import due_accounts
from finops.lake.usage.usage_segments import live_usage
from finops.lib import clock
from finops.worker.programs import worker_commands
from ingestion import services
from ingestion.models import UsageSource, UsageUpload
from ingestion.parsing import check_batch
from tests.servers import ROOT, _end, _end_with_the_tests

ROUNDS = int(os.environ.get("BENCH_LANES_ROUNDS", "5"))
EVENTS = 60_000
MORE_EVENTS = 70_000
"""Events of tenants whose flush has priority."""
LINES = 400_000
MERGED = 400_000
PATIENCE = 300.0
ACTOR = Actor.command("bench")


def measure() -> list[Row]:
    tenant, busy = _account("bench-lanes"), [_account("bench-lanes-busy"), _account("bench-lanes-too")]
    source = services.create_usage_source(account=busy[0], actor=ACTOR, name="Backfill")
    cases: dict[str, Callable[[], None]] = {
        "nothing": lambda: None,
        "two uploads of one tenant": partial(_upload, source),
        "a merge each of two tenants": partial(_begin_merges, busy),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    with _programs():
        for turn in range(ROUNDS + 1):
            for name, begin in cases.items():
                begin()
                took = _flush_seconds(tenant)
                _settle(busy)
                if turn:  # the first warms up
                    times[name].append(took)
    idle = median(times["nothing"])
    return [
        {
            "beside the flush": name,
            "rounds": ROUNDS,
            "seconds, median": median(each),
            "maximum": max(each),
            "ratio to nothing": median(each) / idle,
        }
        for name, each in times.items()
    ]


def _account(slug: str) -> Account:
    owner = get_user_model().objects.create_user(f"{slug}@example.com")
    return create_account(name=slug, owner=owner, slug=slug)


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        if time.monotonic() > end:
            raise RuntimeError("The worker did not do it.")
        time.sleep(0.02)


def _push(account: Account, events: int) -> None:
    batches = [check_batch(body).events for body in bodies(BATCH)]
    for number in range(events // BATCH):
        with transaction.atomic():
            inbox.append(
                account=account,
                source_id=1,
                batch=uuid.uuid4(),
                received_at=clock.now(),
                events=batches[number % len(batches)],
            )


def _flush_seconds(tenant: Account) -> float:
    _push(tenant, EVENTS)
    start = time.perf_counter()
    _wait(lambda: not count_pending(tenant))
    return time.perf_counter() - start


def _upload(source: UsageSource) -> None:
    for _ in range(2):
        # No two alike: a file is taken once.
        name = uuid.uuid4().hex
        lines = (f"{name}-{n % 400},requests,{n},2026-11-20T12:00:00Z" for n in range(LINES))
        content = "\n".join(["customer_id,metric,quantity,timestamp", *lines]).encode()
        services.queue_upload(source=source, upload=SimpleUploadedFile("events.csv", content), actor=ACTOR)
    running = UsageUpload.objects.unscoped().filter(rows__gt=0, status="running")
    _wait(running.exists)


def _begin_merges(accounts: list[Account]) -> None:
    for account in accounts:
        for number in range(8):
            _write(account, 11, 8 * MERGED, number * MERGED, MERGED)
    for account in accounts:
        live_usage(account).update(month="2026-11-01")
        _push(account, MORE_EVENTS)
    _wait(lambda: not any(count_pending(account) for account in accounts))


def _settle(accounts: list[Account]) -> None:
    """Wait until all work of the previous turn is finished."""
    for job in UsageUpload.objects.unscoped().exclude(status__in=["done", "canceled"]):
        with account_scope(job.account):
            services.cancel_upload(job=job, actor=ACTOR)
    _wait(lambda: not UsageUpload.objects.unscoped().filter(status__in=["queued", "running"]).exists())
    _wait(lambda: not due_accounts())
    _wait(lambda: all(live_usage(account).filter(rows=MERGED).count() < 8 for account in accounts))
    time.sleep(1)


@contextmanager
def _programs() -> Iterator[None]:
    with ExitStack() as stack:
        log = stack.enter_context(Path(settings.VAR_DIR, "worker.log").open("wb"))
        for _name, command in worker_commands():
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=dict(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_the_tests,
            )
            stack.callback(_end, process)
        yield

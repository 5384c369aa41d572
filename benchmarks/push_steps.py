"""Time of one push by step, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.test import RequestFactory

from benchmarks.push_events import BATCH, bodies
from benchmarks.table import Row
from finops.lib import clock
from finops.lib.ratelimit import rate_limiter
from ingestion import parsing
from ingestion.parsing import Batch
from ingestion.remarks import Remarks
from ingestion.services import accept, event_ids
from ingestion.services.event_ids import DedupResult
from ingestion.services.keys import authenticate_usage_key, lock_active_key
from ingestion.views.push import PATH, push

STEP_TURNS = 60


def steps(key: str) -> Row:
    body = bodies(BATCH, count=1)[0]
    factory, headers = RequestFactory(), {"authorization": f"Bearer {key}"}

    def whole() -> None:
        answer = push(factory.post(PATH, body, content_type="application/json", headers=headers))
        assert answer.status_code == 200

    timings: dict[str, list[float]] = {}

    def measure_step(name: str, action: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = action()
        timings.setdefault(name, []).append((time.perf_counter() - start) * 1_000)
        return result

    for turn in range(STEP_TURNS):
        measure_step("whole", whole)
        credential = measure_step("credential and last use", lambda: authenticate_usage_key(key))
        measure_step("rate limit", lambda: rate_limiter().hit("bench", limit=10**7))
        measure_step("JSON", lambda: parsing._TYPED.decode(body))
        batch = measure_step("JSON and rules", lambda: parsing.check_batch(body))
        _store(measure_step, credential, batch, turn)
    return {
        "one request of 1,000 events, ms": "median",
        **{name: median(values[5:]) for name, values in timings.items()},
    }


def _store(
    measure_step: Callable[[str, Callable[[], Any]], Any], credential: Any, batch: parsing.Batch, turn: int
) -> None:
    account, batch_id = credential.account, uuid4()
    named = Batch(batch.events, batch.names, [f"{turn}-{at}" for at in range(len(batch.events))])

    def store() -> None:
        accept._store(
            credential,
            batch,
            batch_id,
            DedupResult(batch.events, batch.names, 0, [], 0),
            Remarks.of(batch, clock.now()),
        )

    opened = transaction.atomic()
    opened.__enter__()
    measure_step("key, locked", lambda: lock_active_key(credential.key_id))
    measure_step("events, ledger, customers and metrics", store)
    measure_step("commit", lambda: opened.__exit__(None, None, None))
    with transaction.atomic():
        measure_step(
            "(1,000 event ids)",
            lambda: event_ids.deduplicate(
                account_id=account.pk, source_id=credential.source_id, batch=named, batch_id=batch_id
            ),
        )

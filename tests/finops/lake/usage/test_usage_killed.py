"""kill -9 between every two steps of flush, merge and void: every event counts exactly once at once and afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.lake.models import LakeSegment
from finops.lake.storage.garbage_collection import sweep
from finops.lake.storage.storage import SPOOL, storage
from finops.lake.usage.compaction import tidy_usage
from finops.lake.usage.flush import count_pending, flush_usage
from finops.lake.usage.usage_removal import void_batch
from finops.lib import clock
from tests.cast import Cast
from tests.finops.lake.events import ALWAYS, NOON, Event, push, run_query
from tests.killed_workers import KilledWorkers, killed_workers
from tests.long import also_long

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def workers(cast: Cast) -> Iterator[KilledWorkers]:
    with killed_workers("tests.finops.lake.killed_steps:run_operation") as workers:
        yield workers


def two_months(count: int = 6) -> list[Event]:
    times = [NOON + timedelta(days=31 * (n % 2), minutes=n) for n in range(count)]
    return [Event(Decimal(2**n), time, f"c-{n}", dimensions={"k": str(n)}) for n, time in enumerate(times)]


def rows_of(account: Account) -> list[tuple[str, int]]:
    rows = run_query(account, lambda usage: usage.select("batch", "position"))
    return sorted((row["batch"], row["position"]) for row in rows)


def expected(*batches: uuid.UUID, count: int = 6) -> list[tuple[str, int]]:
    return sorted((str(batch), position) for batch in batches for position in range(count))


STRIDES = [3, *also_long(1)]
"""Kill at every third step, or at each: a step is a process that starts."""


def kill_at_steps(stride: int, kill: Callable[[int], str], check: Callable[[], None]) -> list[str]:
    """Kill a worker at step 0, `stride` … until one comes to its end; the steps."""
    steps: list[str] = []
    while step := kill(len(steps) * stride):
        steps.append(step)
        check()
    check()
    assert len(steps) > 1
    return steps


def no_trace(account: Account) -> None:
    """A day later nothing is left of the killed but what counts."""
    with clock.frozen(datetime.now(UTC) + timedelta(hours=25)):
        sweep()
    files = {file.path for file in storage().files()}
    live = LakeSegment.objects.unscoped().values_list("path", flat=True)
    assert {path for path in files if path.startswith((f"{account.pk}/usage", SPOOL))} == set(live)


@pytest.mark.parametrize("stride", STRIDES)
def test_a_flush_killed_at_any_step_moves_all_or_nothing(
    stride: int, cast: Cast, workers: KilledWorkers
) -> None:
    batches = [push(cast.account, two_months())]

    def kill(step: int) -> str:
        if not count_pending(cast.account):  # the last one was killed after its commit
            batches.append(push(cast.account, two_months()))
        return workers.killed_at(step, "flush", cast.account.pk)

    def check() -> None:
        assert rows_of(cast.account) == expected(*batches)

    steps = kill_at_steps(stride, kill, check)
    if stride == 1:
        named = {"after _take_chunk", "before replace", "after replace", "before _commit", "after _commit"}
        assert named <= set(steps)
        assert steps.count("after put") == 2
    flush_usage(cast.account)
    check()
    no_trace(cast.account)
    check()


@pytest.mark.parametrize("stride", STRIDES)
def test_a_merge_killed_at_any_step_counts_as_a_whole_or_not_at_all(
    stride: int, cast: Cast, workers: KilledWorkers
) -> None:
    batches: list[uuid.UUID] = []

    def small_files() -> None:
        for _ in range(2):
            batches.append(push(cast.account, two_months(2)))
            flush_usage(cast.account)

    def kill(step: int) -> str:
        if LakeSegment.objects.unscoped().filter(retired_at=None).count() < 4:
            small_files()
        return workers.killed_at(step, "merge", cast.account.pk)

    def check() -> None:
        assert rows_of(cast.account) == expected(*batches, count=2)

    steps = kill_at_steps(stride, kill, check)
    named = {"after _due_segments", "after _rows", "after put", "after retire", "after insert_usage_rows"}
    assert stride > 1 or named <= set(steps)
    tidy_usage(cast.account)
    check()
    no_trace(cast.account)
    check()
    assert LakeSegment.objects.unscoped().count() == 2


@pytest.mark.parametrize("stride", STRIDES)
def test_a_void_killed_at_any_step_removes_all_of_the_batch_or_nothing(
    stride: int, cast: Cast, workers: KilledWorkers
) -> None:
    batch_ids: list[uuid.UUID] = []
    wrong: list[uuid.UUID] = []

    def push_both() -> None:
        batch_ids.append(push(cast.account, two_months()))
        wrong.append(push(cast.account, two_months()))

    def kill(step: int) -> str:
        if not wrong or not missing_count():
            push_both()
            flush_usage(cast.account)
            tidy_usage(cast.account)
        return workers.killed_at(step, "void", cast.account.pk, str(wrong[-1]))

    def missing_count() -> int:
        return len(rows_of(cast.account)) - 6 * len(batch_ids)

    def check() -> None:
        there = expected(*batch_ids, *wrong[-1:]) if missing_count() else expected(*batch_ids)
        assert rows_of(cast.account) == there

    steps = kill_at_steps(stride, kill, check)
    named = {"after _remove_waiting", "after rows_of_batch", "after put", "after retire"}
    assert stride > 1 or named <= set(steps)
    void_batch(account=cast.account, source_id=1, batch=wrong[-1], first_day=ALWAYS[0], last_day=ALWAYS[1])
    assert rows_of(cast.account) == expected(*batch_ids)
    no_trace(cast.account)
    assert rows_of(cast.account) == expected(*batch_ids)

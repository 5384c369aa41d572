"""Questions at every moment of flush, merge and void: each event counts exactly once.

`SOAK=1` (`make soak`) asks a hundred times as often, INTERLEAVINGS as often as it says.
"""

from __future__ import annotations

import os
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from itertools import cycle
from typing import Any

import pytest
from django.db import connection

from accounts.models import Account
from finops.lake.engine import engine
from finops.lake.storage import segment_rewriter
from finops.lake.storage.storage import storage
from finops.lake.usage import compaction
from finops.lake.usage.compaction import CompactionResult, merge_usage, tidy_usage
from finops.lake.usage.flush import flush_usage
from finops.lake.usage.usage_removal import void_batch
from tests.cast import Cast
from tests.finops.lake.events import ALWAYS, NOON, Event, push, run_query
from tests.finops.lake.steps import watching

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak]
INTERLEAVINGS = int(os.environ.get("INTERLEAVINGS", 100_000 if os.environ.get("SOAK") else 400))

Rows = list[tuple[str, int]]


class Ledger:
    """What counts, by what was pushed and voided: events by batch."""

    def __init__(self, account: Account, seed: int) -> None:
        self.account = account
        self.random = random.Random(seed)
        self.batches: dict[uuid.UUID, int] = {}
        self.being_voided: uuid.UUID | None = None
        self._turns = cycle([self._flush, self._merge, self._flush, self.void_batch_at_random, self._tidy])

    def push(self) -> None:
        events = [self._event(n) for n in range(self.random.randrange(1, 6))]
        self.batches[push(self.account, events)] = len(events)

    def _event(self, number: int) -> Event:
        time = NOON + timedelta(days=self.random.choice((0, 31, 62)), seconds=self.random.randrange(10**6))
        keys = self.random.sample(["plan", "Plan", "region"], self.random.randrange(3))
        return Event(Decimal(number), time, f"c-{number % 2}", dimensions=dict.fromkeys(keys, "v"))

    def void_batch_at_random(self) -> None:
        self.being_voided = self.random.choice(list(self.batches))
        first, last = ALWAYS
        void_batch(account=self.account, source_id=1, batch=self.being_voided, first_day=first, last_day=last)
        del self.batches[self.being_voided]
        self.being_voided = None

    def act(self) -> None:
        """One of what workers do, in turn."""
        next(self._turns)()

    def _flush(self) -> None:
        flush_usage(self.account)

    def _merge(self) -> None:
        merge_usage(self.account)

    def _tidy(self) -> None:
        tidy_usage(self.account)

    def valid_answers(self) -> list[Rows]:
        """The right answers just now: before and after a void that is under way."""
        whole = _rows(self.batches)
        if self.being_voided is None:
            return [whole]
        return [whole, _rows({b: n for b, n in self.batches.items() if b != self.being_voided})]


def _rows(batches: dict[uuid.UUID, int]) -> Rows:
    return sorted((str(batch), position) for batch, count in batches.items() for position in range(count))


def rows_of(account: Account) -> Rows:
    rows = run_query(account, lambda usage: usage.select("batch", "position"))
    return sorted((row["batch"], row["position"]) for row in rows)


@contextmanager
def another_thread() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Runs a function in a thread with a connection of its own, and gives its result."""
    with ThreadPoolExecutor(1) as thread:
        try:
            yield lambda function: thread.submit(function).result()
        finally:
            thread.submit(lambda: connection.close()).result()  # the thread's own


@pytest.mark.parametrize("seed", [1, 2])
def test_a_question_between_any_two_steps_sees_each_event_exactly_once(cast: Cast, seed: int) -> None:
    ledger = Ledger(cast.account, seed)
    steps: list[str] = []

    with another_thread() as elsewhere:

        def look(step: str) -> None:
            answer = elsewhere(lambda: rows_of(cast.account))
            assert answer in ledger.valid_answers(), step
            steps.append(step)

        while len(steps) < INTERLEAVINGS * 0.45:
            ledger.push()
            with watching(look):
                ledger.act()
    assert len(set(steps)) > 30


def test_changes_during_a_query_do_not_change_its_answer(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its look at the manifest and its reading of the files, another thread flushes, merges or voids."""
    ledger = Ledger(cast.account, 3)
    ledger.push()
    local = engine._local
    asker = threading.get_ident()

    with another_thread() as elsewhere:

        def meanwhile(*args: Any) -> Any:
            if threading.get_ident() == asker:
                elsewhere(ledger.act)
            return local(*args)

        monkeypatch.setattr(engine, "_local", meanwhile)
        for _ in range(INTERLEAVINGS // 10):
            ledger.push()
            before = _rows(ledger.batches)
            assert rows_of(cast.account) == before
    monkeypatch.undo()
    assert [rows_of(cast.account)] == ledger.valid_answers()


def test_a_merge_that_a_void_overtakes_is_thrown_away_and_done_again(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: dict[uuid.UUID, int] = {}
    for _ in range(8):
        batches[push(cast.account, [Event()])] = 1
        flush_usage(cast.account)
    wrong = next(iter(batches))
    rewrite, merging = segment_rewriter.rewrite, threading.get_ident()
    paths: list[str] = []
    first, last = ALWAYS

    with another_thread() as elsewhere:

        def rewrite_and_void(*args: Any, **kwargs: Any) -> Any:
            new = rewrite(*args, **kwargs)
            if threading.get_ident() == merging and not paths:
                paths.append(new.path)
                del batches[wrong]
                elsewhere(
                    lambda: void_batch(
                        account=cast.account, source_id=1, batch=wrong, first_day=first, last_day=last
                    )
                )
            return new

        monkeypatch.setattr(segment_rewriter, "rewrite", rewrite_and_void)
        assert merge_usage(cast.account) == CompactionResult(0, 0)
    assert rows_of(cast.account) == _rows(batches)
    assert not any(file.path == paths[0] for file in storage().files())
    assert tidy_usage(cast.account) == CompactionResult(1, 7)
    assert rows_of(cast.account) == _rows(batches)


def test_two_workers_merge_different_months_of_an_account_at_once(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: dict[uuid.UUID, int] = {}
    for days in (0, 31) * 8:
        batches[push(cast.account, [Event(event_time=NOON + timedelta(days=days))])] = 1
        flush_usage(cast.account)

    results = merge_while_merging(cast.account, monkeypatch)

    assert results == [CompactionResult(1, 8), CompactionResult(1, 8)]
    assert rows_of(cast.account) == _rows(batches)


def test_two_workers_merge_different_segments_of_one_month_at_once_and_one_finishes(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "GROUP_SEGMENTS", 8)
    batches: dict[uuid.UUID, int] = {}
    for _ in range(16):
        batches[push(cast.account, [Event()])] = 1
        flush_usage(cast.account)
    assert compaction.tidy_workers(cast.account) == 2

    results = merge_while_merging(cast.account, monkeypatch, tidy_usage)

    assert results == [CompactionResult(1, 8), CompactionResult(2, 8 + 16)]
    assert rows_of(cast.account) == _rows(batches)


def merge_while_merging(
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    merge: Callable[[Account], CompactionResult] = merge_usage,
) -> list[CompactionResult]:
    """What another worker merges while this one writes its first file, then what this one merges."""
    rewrite, first = segment_rewriter.rewrite, threading.get_ident()
    results: list[CompactionResult] = []

    with another_thread() as elsewhere:

        def meanwhile(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == first and not results:
                results.append(elsewhere(lambda: merge(account)))
            return rewrite(*args, **kwargs)

        monkeypatch.setattr(segment_rewriter, "rewrite", meanwhile)
        results.append(merge(account))
    return results


class ConcurrentWorkers:
    """Threads that push, void what was pushed by mistake, flush, merge and ask, until all is pushed."""

    def __init__(self, account: Account, rounds: int) -> None:
        self.account = account
        self.rounds = rounds
        self.kept: list[uuid.UUID] = []
        self.wrong: list[uuid.UUID] = []
        self.pushed = threading.Event()

    def work(self) -> None:
        with ThreadPoolExecutor(9) as threads:
            pushing = [threads.submit(closing, self.push) for _ in range(2)]
            pushing.append(threads.submit(closing, self.push_by_mistake))
            again = (self.flush, self.flush, self.merge, self.void, self.look, self.look)
            working = [threads.submit(closing, self.repeat, work) for work in again]
            wait(pushing)
            self.pushed.set()
        for each in (*pushing, *working):
            each.result()

    def repeat(self, work: Callable[[], None]) -> None:
        while not self.pushed.is_set():
            work()

    def push(self) -> None:
        for _ in range(self.rounds):
            self.kept.append(push(self.account, [Event(), Event(event_time=NOON + timedelta(days=31))]))

    def push_by_mistake(self) -> None:
        for _ in range(self.rounds // 2):
            self.wrong.append(push(self.account, [Event(metric="wrong")] * 3))

    def void(self) -> None:
        first, last = ALWAYS
        while self.wrong:
            void_batch(
                account=self.account, source_id=1, batch=self.wrong.pop(), first_day=first, last_day=last
            )

    def flush(self) -> None:
        flush_usage(self.account)

    def merge(self) -> None:
        merge_usage(self.account)
        tidy_usage(self.account)

    def look(self) -> None:
        """What was there before the question is in its answer, and nothing twice."""
        before = _rows(dict.fromkeys(list(self.kept), 2))
        asked_for = run_query(
            self.account, lambda usage: usage.filter(usage.metric == "calls").select("batch", "position")
        )
        positions = {(row["batch"], row["position"]) for row in asked_for}
        assert len(positions) == len(asked_for)
        assert positions.issuperset(before)


def closing(work: Callable[..., None], *arguments: Any) -> None:
    try:
        work(*arguments)
    finally:
        connection.close()


def test_many_concurrent_threads_neither_lose_nor_duplicate_events(cast: Cast) -> None:
    crowd = ConcurrentWorkers(cast.account, INTERLEAVINGS // 20)
    crowd.work()
    crowd.void()
    whole = _rows(dict.fromkeys(crowd.kept, 2))
    assert len(crowd.kept) == crowd.rounds * 2
    assert rows_of(cast.account) == whole
    flush_usage(cast.account)
    tidy_usage(cast.account)
    assert rows_of(cast.account) == whole

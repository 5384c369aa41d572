"""Turns of requests: one after the other, and none waits for a request that itself waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from finops.lib.turns import Turns, end_turn
from tests.waiting import wait_until

LONG = 60.0


class Requests:
    """Threads that take a turn, note it and hold it until they are released."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.begun = turns, list[int]()
        self.most_at_once = self._at_once = 0
        self._release = {number: threading.Event() for number in range(9)}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self, number: int) -> None:
        waiting = len(self.turns._waiting)
        thread = threading.Thread(target=self._run, args=(number,), daemon=True)
        thread.start()
        self._threads.append(thread)
        wait_until(lambda: number in self.begun or len(self.turns._waiting) > waiting)

    def release(self, number: int) -> None:
        self._release[number].set()

    def _run(self, number: int) -> None:
        with self.turns.begin():
            self.begun.append(number)
            self._release[number].wait(LONG)

    def close(self) -> None:
        for event in self._release.values():
            event.set()
        for thread in self._threads:
            thread.join(LONG)
            assert not thread.is_alive()


@pytest.fixture
def requests() -> Iterator[Requests]:
    every = Requests(Turns(LONG))
    yield every
    every.close()


def test_requests_run_one_after_the_other_in_the_order_of_arrival(requests: Requests) -> None:
    for number in range(3):
        requests.start(number)
    assert requests.begun == [0]
    for number in range(3):
        requests.release(number)
        wait_until(lambda: len(requests.begun) == min(3, number + 2))  # noqa: B023 called at once
    assert requests.begun == [0, 1, 2]


def test_a_request_that_takes_long_holds_up_the_others_once() -> None:
    requests = Requests(Turns(0.01))
    requests.start(0)
    requests.start(1)
    wait_until(lambda: requests.begun == [0, 1])
    requests.release(0)
    requests.start(2)
    wait_until(lambda: requests.begun == [0, 1, 2])
    requests.close()


def test_a_turn_that_ends_early_lets_the_next_request_begin_and_ends_once() -> None:
    turns = Turns(LONG)
    requests = Requests(turns)
    with turns.begin() as turn:
        requests.start(0)
        assert requests.begun == []
        end_turn()
        wait_until(lambda: requests.begun == [0])
        requests.start(1)
        turn.end()
        assert requests.begun == [0], "another request has the turn"
    requests.close()
    assert requests.begun == [0, 1]


def test_a_thread_without_a_turn_ends_none(requests: Requests) -> None:
    requests.start(0)
    requests.start(1)
    end_turn()
    assert requests.begun == [0]


def test_no_turn_is_lost_with_many_threads_and_short_turns() -> None:
    turns, count = Turns(0.001), [0]
    lock = threading.Lock()

    def work() -> None:
        for _ in range(200):
            with turns.begin():
                with lock:
                    count[0] += 1
                end_turn()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert count == [1600]
    with turns.begin():
        assert not turns._waiting

from __future__ import annotations

import threading

import pytest

from finops.web.bulkheads import Bulkhead, Busy
from tests.waiting import wait_until


def take(bulkhead: Bulkhead, client: str, times: int = 1) -> None:
    for _ in range(times):
        bulkhead.acquire(client)


class Waiter:
    """A thread that asks for a slot and notes when it has it."""

    def __init__(self, bulkhead: Bulkhead, client: str, order: list[str]) -> None:
        self.client, self.order = client, order
        self.thread = threading.Thread(target=self._run, args=(bulkhead,), daemon=True)
        before = bulkhead.queue_length
        self.thread.start()
        wait_until(lambda: bulkhead.queue_length == before + 1)

    def _run(self, bulkhead: Bulkhead) -> None:
        bulkhead.acquire(self.client)
        self.order.append(self.client)


def test_slots_go_to_clients_in_turn_and_not_to_the_most_active_one() -> None:
    bulkhead, order = Bulkhead("pages", size=1), list[str]()
    bulkhead.acquire("first")
    for client in ("greedy", "greedy", "greedy", "modest"):
        Waiter(bulkhead, client, order)

    holder = "first"
    for number in range(4):
        bulkhead.release(holder)
        wait_until(lambda: len(order) == number + 1)  # noqa: B023 - asked within the turn
        holder = order[-1]

    assert order == ["greedy", "modest", "greedy", "greedy"]


def test_one_client_holds_two_thirds_at_most_while_places_are_free() -> None:
    bulkhead, order = Bulkhead("mcp", size=6), list[str]()
    take(bulkhead, "greedy", 4)
    Waiter(bulkhead, "greedy", order)
    take(bulkhead, "modest", 2)
    assert (bulkhead.running, bulkhead.queue_length, order) == (6, 1, [])

    bulkhead.release("modest")
    assert (bulkhead.running, bulkhead.queue_length) == (5, 1)

    bulkhead.release("greedy")
    wait_until(lambda: order == ["greedy"])
    assert (bulkhead.running, bulkhead.queue_length) == (5, 0)


def test_a_request_that_waits_too_long_or_behind_too_many_is_refused_and_takes_no_slot() -> None:
    bulkhead = Bulkhead("push", size=1, waiting=4, seconds=0.05)
    bulkhead.acquire("a")
    with pytest.raises(Busy):
        bulkhead.acquire("b")
    slow, order = Bulkhead("push", size=1, waiting=4, seconds=30), list[str]()
    slow.acquire("a")
    Waiter(slow, "b", order)
    with pytest.raises(Busy):
        slow.acquire("b")  # a quarter of four wait for b already
    slow.release("a")
    wait_until(lambda: order == ["b"])

    bulkhead.release("a")
    bulkhead.acquire("c")
    assert (bulkhead.running, bulkhead.queue_length) == (1, 0)


def test_no_place_is_lost_or_made_by_many_threads_and_short_waits() -> None:
    bulkhead = Bulkhead("push", size=3, waiting=1000, seconds=0.002)
    most = [0]

    def work(client: str) -> None:
        for _ in range(200):
            try:
                bulkhead.acquire(client)
            except Busy:
                continue
            most[0] = max(most[0], bulkhead.running)
            bulkhead.release(client)

    threads = [threading.Thread(target=work, args=(f"client {number % 3}",)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (bulkhead.running, bulkhead.queue_length) == (0, 0)
    assert 1 <= most[0] <= 3
    take(bulkhead, "a", 2)
    take(bulkhead, "b", 1)

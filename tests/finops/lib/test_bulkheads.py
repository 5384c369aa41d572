from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence
from contextlib import suppress

import pytest

from finops.lib.bulkheads import Bulkhead, Busy
from tests.waiting import wait_until


def take(bulkhead: Bulkhead, client: str, times: int = 1) -> None:
    for _ in range(times):
        bulkhead.acquire(client)


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def use(bulkhead: Bulkhead, clock: Clock, client: str, seconds: float) -> None:
    """Hold a slot for so long."""
    bulkhead.acquire(client)
    clock.now += seconds
    bulkhead.release(client)


def order_of_slots(bulkhead: Bulkhead, holder: str, waiting: Sequence[str]) -> list[str]:
    """Return the order in which waiting clients get the only slot, which `holder` holds; each releases it at once."""
    order: list[str] = []
    for client in waiting:
        Waiter(bulkhead, client, order)
    for number in range(len(waiting)):
        bulkhead.release(order[-1] if order else holder)
        wait_until(lambda: len(order) == number + 1)  # noqa: B023 - asked within the turn
    bulkhead.release(order[-1])
    return order


class Waiter:
    """A thread that asks for a slot and notes when it has it."""

    def __init__(self, bulkhead: Bulkhead, client: str, order: list[str]) -> None:
        self.client, self.order = client, order
        self.thread = threading.Thread(target=self._run, args=(bulkhead,), daemon=True)
        before = bulkhead.queue_length
        self.thread.start()
        wait_until(lambda: bulkhead.queue_length == before + 1)

    def _run(self, bulkhead: Bulkhead) -> None:
        with suppress(Busy):  # the test may be over before
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


def test_a_slot_goes_to_the_client_that_used_least_slot_time_in_the_last_minute() -> None:
    clock = Clock()
    bulkhead = Bulkhead("lake", size=1, now=clock)
    use(bulkhead, clock, "noisy", 40)
    use(bulkhead, clock, "quiet", 1)
    bulkhead.acquire("other")
    waiting = ["noisy", "noisy", "quiet", "noisy", "new", "quiet"]
    assert order_of_slots(bulkhead, "other", waiting) == ["new", "quiet", "quiet", "noisy", "noisy", "noisy"]

    clock.now += 300  # then the noisy client's 40 seconds are a quarter of a second
    use(bulkhead, clock, "quiet", 1)
    bulkhead.acquire("other")
    assert order_of_slots(bulkhead, "other", ["quiet", "noisy"]) == ["noisy", "quiet"]


def test_the_time_of_slots_that_are_held_now_counts() -> None:
    clock = Clock()
    bulkhead = Bulkhead("lake", size=3, share=2, now=clock)
    take(bulkhead, "noisy", 2)
    clock.now += 10
    bulkhead.acquire("quiet")
    order: list[str] = []
    for client in ("noisy", "quiet"):
        Waiter(bulkhead, client, order)
    bulkhead.release("noisy")
    wait_until(lambda: order == ["quiet"])


@pytest.mark.parametrize("size", [1, 2])
def test_reserved_slots_are_for_clients_without_a_slot_that_use_little(size: int) -> None:
    clock, order = Clock(), list[str]()
    bulkhead = Bulkhead("lake", size=size + 2, share=size, reserved=2, now=clock)
    use(bulkhead, clock, "heavy", 30)
    take(bulkhead, "noisy", size)
    clock.now += 10
    Waiter(bulkhead, "noisy", order)  # at its share
    Waiter(bulkhead, "heavy", order)  # used more than half as much as the noisy client
    bulkhead.acquire("quiet")
    Waiter(bulkhead, "quiet", order)  # holds a slot
    assert (bulkhead.running, order) == (size + 1, [])
    bulkhead.acquire("new")
    with pytest.raises(Busy):
        bulkhead.acquire("newer", 0)
    assert bulkhead.running == bulkhead.size


def test_a_client_that_becomes_quiet_by_comparison_gets_a_reserved_slot_without_a_release() -> None:
    clock, order = Clock(), list[str]()
    bulkhead = Bulkhead("lake", size=2, share=1, reserved=1, now=clock)
    use(bulkhead, clock, "heavy", 5)
    bulkhead.acquire("noisy")
    Waiter(bulkhead, "heavy", order)
    clock.now += 20
    wait_until(lambda: order == ["heavy"])


def test_with_too_many_waiting_the_newest_request_of_the_dearest_client_is_refused() -> None:
    clock, refused = Clock(), list[str]()
    bulkhead = Bulkhead("pages", size=1, waiting=4, now=clock)
    use(bulkhead, clock, "noisy", 10)
    use(bulkhead, clock, "modest", 1)
    bulkhead.acquire("holder")

    def ask(client: str) -> None:
        try:
            bulkhead.acquire(client)
        except Busy:
            refused.append(client)

    for number, client in enumerate(("a", "noisy", "modest", "b")):
        threading.Thread(target=ask, args=(client,), daemon=True).start()
        wait_until(lambda: bulkhead.queue_length == number + 1)  # noqa: B023 - asked within the turn
    threading.Thread(target=ask, args=("c",), daemon=True).start()
    wait_until(lambda: refused == ["noisy"])
    assert bulkhead.queue_length == 4
    with pytest.raises(Busy):
        bulkhead.acquire("noisy")


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


@pytest.mark.anyio
async def test_requests_in_an_event_loop_take_turns_with_threads_and_leave_when_they_are_canceled() -> None:
    bulkhead, order = Bulkhead("pages", size=1), list[str]()
    bulkhead.acquire("first")

    async def run(client: str) -> None:
        await bulkhead.acquire_in_loop(client)
        order.append(client)
        bulkhead.release(client)

    canceled = asyncio.create_task(run("canceled"))
    await asyncio.sleep(0)
    tasks = [asyncio.create_task(run(client)) for client in ("greedy", "greedy", "modest")]
    while bulkhead.queue_length < 4:
        await asyncio.sleep(0)
    canceled.cancel()
    while bulkhead.queue_length > 3:
        await asyncio.sleep(0)

    await asyncio.to_thread(bulkhead.release, "first")
    await asyncio.gather(*tasks)

    assert order == ["greedy", "modest", "greedy"]
    assert (bulkhead.running, bulkhead.queue_length) == (0, 0)


@pytest.mark.anyio
async def test_no_slot_is_lost_or_made_by_many_requests_in_an_event_loop_and_short_waits() -> None:
    bulkhead, most, chance = Bulkhead("push", size=3, waiting=1000, seconds=0.002), 0, random.Random(1)

    async def work(client: str) -> None:
        nonlocal most
        for _ in range(200):
            try:
                await bulkhead.acquire_in_loop(client)
            except Busy:
                continue
            most = max(most, bulkhead.running)
            await asyncio.sleep(chance.choice((0, 0.001)))
            bulkhead.release(client)

    await asyncio.gather(*(work(f"client {number % 3}") for number in range(12)))

    assert (bulkhead.running, bulkhead.queue_length) == (0, 0)
    assert 1 <= most <= 3

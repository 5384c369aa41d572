"""Fixed windows: so many in each, in a cache that processes share."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.cache import cache
from pytest_django import Settings

from finops.lib import shared_cache
from finops.lib.fixed_window import seconds_to_wait
from tests.deployment import redis_server
from tests.servers import free_port


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with redis_server() as url:
        yield url


def use_cache(settings: Settings, url: str) -> None:
    settings.CACHES = {"default": {"BACKEND": "finops.lib.shared_cache.SharedCache", "LOCATION": url}}
    shared_cache._breaker._until = 0.0


@pytest.fixture(params=["memory", "redis"])
def counters(request: pytest.FixtureRequest, settings: Settings) -> None:
    if request.param == "redis":
        use_cache(settings, request.getfixturevalue("redis"))
        cache.clear()


def test_a_window_lets_so_many_through_and_says_when_it_ends(counters: None) -> None:
    waits = [seconds_to_wait("page", "a", limit=3) for _ in range(5)]

    assert waits[:3] == [0, 0, 0]
    assert all(55 <= wait <= 60 for wait in waits[3:])


def test_each_key_and_each_group_counts_for_itself(counters: None) -> None:
    assert seconds_to_wait("page", "a", limit=1) == 0

    assert seconds_to_wait("page", "b", limit=1) == 0
    assert seconds_to_wait("other", "a", limit=1) == 0
    assert seconds_to_wait("page", "a", limit=1) > 0


def test_the_next_window_counts_again(counters: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [seconds_to_wait("page", "a", limit=1) > 0 for _ in range(2)] == [False, True]

    monkeypatch.setattr("django_ratelimit.core._get_window", lambda value, period: 4_000_000_000)

    assert seconds_to_wait("page", "a", limit=1) == 0


def test_threads_together_get_exactly_the_limit(counters: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # However slow Redis is on a busy machine, no thread counts for itself instead.
    monkeypatch.setattr("finops.lib.circuit_breaker.SLOW_SECONDS", 60.0)

    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: seconds_to_wait("page", "a", limit=50), range(120)))

    assert waits.count(0) == 50


def test_a_lost_counter_refuses_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis went away between the two commands: the process's own cache does not have the key."""
    monkeypatch.setattr(cache, "add", lambda *_: False, raising=False)

    assert seconds_to_wait("page", "a", limit=1) == 0


def test_while_redis_is_away_each_process_counts_for_itself(settings: Settings) -> None:
    use_cache(settings, f"redis://127.0.0.1:{free_port()}/0")

    assert [seconds_to_wait("page", "a", limit=1) > 0 for _ in range(2)] == [False, True]

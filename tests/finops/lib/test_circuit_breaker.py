from __future__ import annotations

import pytest

from finops.lib.circuit_breaker import RESET_TIMEOUT_SECONDS, SLOW_SECONDS, CircuitBreaker


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("finops.lib.circuit_breaker.time.monotonic", clock)
    return clock


def test_while_one_waits_for_a_dependency_that_hangs_no_other_begins_to(clock: Clock) -> None:
    redis = CircuitBreaker("Redis", "others go on")
    with redis.call():
        assert not redis.is_open()
        clock.now += SLOW_SECONDS + 0.1
        assert redis.is_open()
    assert not redis.is_open()


def test_after_a_failure_no_request_is_sent_for_a_while(clock: Clock) -> None:
    redis = CircuitBreaker("Redis", "others go on")
    redis.record_failure(OSError("refused"))
    assert redis.is_open()
    clock.now += RESET_TIMEOUT_SECONDS + 0.1
    assert not redis.is_open()

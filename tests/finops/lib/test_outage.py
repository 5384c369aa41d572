from __future__ import annotations

import pytest

from finops.lib.outage import AGAIN_AFTER_SECONDS, SLOW_SECONDS, Outage


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("finops.lib.outage.time.monotonic", clock)
    return clock


def test_while_one_waits_for_a_dependency_that_hangs_no_other_begins_to(clock: Clock) -> None:
    redis = Outage("Redis", "others go on")
    with redis.question():
        assert not redis.lasts()
        clock.now += SLOW_SECONDS + 0.1
        assert redis.lasts()
    assert not redis.lasts()


def test_after_a_failure_nobody_asks_for_a_while(clock: Clock) -> None:
    redis = Outage("Redis", "others go on")
    redis.begins(OSError("refused"))
    assert redis.lasts()
    clock.now += AGAIN_AFTER_SECONDS + 0.1
    assert not redis.lasts()

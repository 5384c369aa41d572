"""Answers that one process computed and another one takes from Redis: the same, whole, and no more than there is room for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pytest_django import Settings
from redis import Redis

from finops.lake.engine import engine, shared_results
from finops.lake.engine.engine import LakeUnavailable
from finops.lake.schema import Kind
from finops.lib.cost_access import cost_access
from tests.broker import messages_in_redis
from tests.cast import Cast
from tests.finops.lake.engine.test_cost_limit import limit
from tests.finops.lake.engine.test_result_cache import lose_files
from tests.finops.lake.facts import JANUARY, billed_by, line, run_query, store, total
from tests.servers import free_port

pytestmark = pytest.mark.django_db


@pytest.fixture
def redis(settings: Settings) -> Iterator[Redis]:
    with messages_in_redis(settings) as url, Redis.from_url(url) as client:
        yield client


def become_another_process() -> None:
    """What this one keeps is gone."""
    engine._forget_after_fork()


def test_a_result_of_one_process_is_reused_by_another(cast: Cast, redis: Redis) -> None:
    store(cast.account, [line(JANUARY, 1)])
    first = run_query(cast.account, billed_by("service"))
    become_another_process()
    lose_files(cast.account)

    assert run_query(cast.account, billed_by("service")) == first
    with pytest.raises(LakeUnavailable):
        run_query(cast.account, billed_by("region"))


def test_answers_of_limited_readers_and_of_others_are_kept_separate(cast: Cast, redis: Redis) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2"), line(JANUARY, 2, service="S3")])
    for _ in range(2):
        for cost_limit, expected in ((None, 3), (limit("service", "ec2"), 1), (limit("service", "s3"), 2)):
            become_another_process()
            with cost_access(cost_limit):
                assert total(cast.account) == expected


def test_an_answer_that_somebody_else_put_there_is_none(cast: Cast, redis: Redis) -> None:
    store(cast.account, [line(JANUARY, 1)])
    first = run_query(cast.account, billed_by("service"))
    become_another_process()
    ((name, value),) = [
        (name, value) for name in redis.scan_iter("finops:lake:*") if len(value := text(redis, name)) > 100
    ]
    redis.set(name, value[:-1] + bytes([value[-1] ^ 1]))

    assert run_query(cast.account, billed_by("service")) == first
    lose_files(cast.account)
    become_another_process()
    # It was computed, and put in its place.
    assert run_query(cast.account, billed_by("service")) == first


def text(redis: Redis, name: bytes) -> bytes:
    value = redis.get(name) if redis.type(name) == b"string" else None
    return value if isinstance(value, bytes) else b""


def test_another_version_computes_its_own(cast: Cast, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    store(cast.account, [line(JANUARY, 1)])
    run_query(cast.account, billed_by("service"))
    become_another_process()
    lose_files(cast.account)
    monkeypatch.setattr(shared_results, "_code", lambda: "of another version")

    with pytest.raises(LakeUnavailable):
        run_query(cast.account, billed_by("service"))


def test_the_oldest_entry_is_evicted_when_the_cache_is_full(
    cast: Cast, redis: Redis, settings: Settings
) -> None:
    settings.LAKE_ANSWERS_BYTES = 10_000
    store(cast.account, [line(JANUARY, 1)])
    for number in range(30):
        engine.run(cast.account, Kind.COST, JANUARY, JANUARY + timedelta(days=number), billed_by("service"))

    sizes = [len(text(redis, name)) for name in redis.scan_iter("finops:lake:*")]
    assert 5_000 < sum(sizes) < 10_100
    assert int(text(redis, b"finops:lake:bytes")) <= 10_000


def test_while_redis_is_away_each_process_answers_itself(cast: Cast, settings: Settings) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    store(cast.account, [line(JANUARY, 1)])

    assert run_query(cast.account, billed_by("service")) == run_query(cast.account, billed_by("service"))

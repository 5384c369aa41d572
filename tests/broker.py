"""Redis for the messages, notes and limits of this process and of programs that a test starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_django import Settings

from finops.celery import app
from finops.lib.ratelimit import rate_limiter
from finops.worker import liveness
from tests.deployment import redis_server


@contextmanager
def messages_in_redis(settings: Settings) -> Iterator[str]:
    """Yield the URL of a Redis server, which is REDIS_URL of this process inside the block."""
    before = app.conf.broker_url
    with redis_server() as url:
        settings.REDIS_URL = app.conf.broker_url = url
        _forget_connections()
        try:
            yield url
        finally:
            settings.REDIS_URL, app.conf.broker_url = "", before
            _forget_connections()


def _forget_connections() -> None:
    app._after_fork()
    liveness._redis.cache_clear()
    rate_limiter.cache_clear()

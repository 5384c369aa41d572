"""The Redis-compatible server that `manage.py up` starts: a socket of this user only, a password, nothing on disk."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings
from limits import RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter
from redis import AuthenticationError, Redis, RedisError
from redis.exceptions import ResponseError

from finops import embedded
from finops.embedded.redis_server import wheel_binary
from finops.lib.redis_urls import broker_url, limits_url
from tests.waiting import wait_until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[embedded.RedisServer]:
    redis = embedded.development_redis(tmp_path / "var")
    redis.prepare()
    process = subprocess.Popen(redis.command())
    try:
        wait_until(redis.answers)
        yield redis
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_only_its_user_reaches_it_and_only_with_the_password(server: embedded.RedisServer) -> None:
    assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700
    for file in ("url", "redis.conf"):
        assert stat.S_IMODE((server.home / file).stat().st_mode) == 0o600
    assert server.password not in " ".join(server.command())
    with Redis(unix_socket_path=str(server.socket)) as stranger, pytest.raises(AuthenticationError):
        stranger.ping()
    with Redis.from_url(server.url) as redis:
        assert redis.config_get("port") == {"port": "0"}


def test_it_keeps_nothing_on_disk_and_gives_up_no_message_for_want_of_memory(
    server: embedded.RedisServer,
) -> None:
    with Redis.from_url(server.url) as redis:
        assert redis.config_get("save") == {"save": ""}
        redis.config_set("maxmemory", redis.info("memory")["used_memory"] + 4_000_000)
        redis.lpush("short", *(b"m" * 1000 for _ in range(1000)))
        for number in range(60):
            redis.set(f"kept {number}", b"x" * 100_000, ex=600)
        assert redis.llen("short") == 1000
        assert redis.info("stats")["evicted_keys"] > 0
        message = b"m" * 100_000
        with pytest.raises(ResponseError, match="maxmemory"):
            redis.lpush("short", *[message] * 30) and redis.lpush("short", *[message] * 30)


def test_cache_limits_and_broker_share_one_address(server: embedded.RedisServer) -> None:
    app = Celery("of a test", broker=broker_url(server.url), set_as_current=False)
    app.send_task("nothing", queue="short")
    limiter = MovingWindowRateLimiter(storage_from_string(limits_url(server.url)))
    item = RateLimitItemPerSecond(2, 60)

    assert [limiter.hit(item, "key") for _ in range(3)] == [True, True, False]
    with Redis.from_url(server.url) as redis:
        assert redis.llen("short") == 1


def test_other_addresses_stay_as_they_are() -> None:
    for url in ("", "redis://:pw@cache.example.com:6379/0", "rediss://cache.example.com/1"):
        assert (broker_url(url), limits_url(url)) == (url, url)


def test_other_commands_find_it_while_it_runs(server: embedded.RedisServer, tmp_path: Path) -> None:
    assert embedded.running_redis_url(tmp_path / "var") == server.url
    server.forget()
    assert embedded.running_redis_url(tmp_path / "var") == ""


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redis = embedded.development_redis(tmp_path / "var")
    redis.socket.parent.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: redis.socket.parent.stat().st_uid + 1)

    with pytest.raises(embedded.EmbeddedError, match="belongs to another user"):
        redis.prepare()


def test_a_long_path_has_its_socket_elsewhere(tmp_path: Path) -> None:
    redis = embedded.development_redis(tmp_path / ("a" * 120) / "var")

    assert len(os.fsencode(redis.socket)) < 104
    assert redis.socket.parent.parent == Path("/tmp")  # noqa: S108 - its owner and mode are checked


def test_the_wheel_has_a_server_for_this_machine() -> None:
    version = subprocess.run([str(wheel_binary()), "--version"], capture_output=True, text=True, check=True)

    assert "Valkey server v=9." in version.stdout


def test_programs_that_run_continue_after_its_restart(tmp_path: Path) -> None:
    """As systemd starts it: whoever read its address before knows the password still."""
    var_dir = tmp_path / "var"
    command = [sys.executable, "-m", "finops.embedded", "redis", str(var_dir)]
    environment = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
    urls = []
    for _ in range(2):
        process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment)
        try:
            wait_until(lambda: answers(embedded.running_redis_url(var_dir)))
            urls.append(embedded.running_redis_url(var_dir))
        finally:
            process.terminate()
            process.wait()
    assert urls[0] == urls[1]


def test_with_a_configured_redis_no_other_is_started(tmp_path: Path) -> None:
    for command in ("prepare-redis", "redis"):
        subprocess.run(
            [sys.executable, "-m", "finops.embedded", command, str(tmp_path / "var")],
            cwd=settings.BASE_DIR,
            env={**os.environ, "REDIS_URL": "redis://cache.example.com/0"},
            check=True,
        )
    assert not (tmp_path / "var").exists()


def answers(url: str) -> bool:
    with suppress(RedisError), Redis.from_url(url or "unix:///nowhere") as redis:
        return bool(redis.ping())
    return False

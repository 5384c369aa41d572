"""PostgreSQL is killed with kill -9 while events are pushed and flushed: all acknowledged events count once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from finops import embedded
from finops.embedded import Cluster
from tests.finops.lake.outages import EVENTS
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

KILLS = 100 if os.environ.get("SOAK") else 1
WAIT_SECONDS = 120.0


@pytest.fixture
def postgres(django_db_setup: None) -> Iterator[Cluster]:
    """A server of the test's own, which keeps what it committed."""
    with tempfile.TemporaryDirectory(prefix="finops-kill-", dir="/tmp", ignore_cleanup_errors=True) as home:
        cluster = replace(embedded.throwaway_cluster(Path(home)), durable=True)
        cluster.create()
        cluster.start()
        yield cluster
        cluster.stop()


def kill(cluster: Cluster) -> None:
    """The server and all its processes, at once."""
    assert cluster.process is not None
    server = cluster.process.pid
    backends = [int(pid) for pid in Path(f"/proc/{server}/task/{server}/children").read_text().split()]
    for pid in (server, *backends):
        os.kill(pid, signal.SIGKILL)
    cluster.process.wait()


class LakeProcesses:
    """Processes that work on that server, with a lake of their own."""

    def __init__(self, cluster: Cluster, var: Path) -> None:
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "finops.settings",
            "DATABASE_URL": cluster.url(),
            "DATABASE_POOL": "0",
            "VAR_DIR": str(var),
            "LAKE_URL": str(var / "lake"),
        }

    def start(self, name: str, file: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.finops.lake.outages", name, str(file)]
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=self.environment)

    def run(self, name: str, file: Path) -> None:
        assert self.start(name, file).wait() == 0

    @contextmanager
    def running(self, name: str, file: Path) -> Iterator[None]:
        process = self.start(name, file)
        try:
            yield
            assert process.poll() is None, "it goes on after an outage"
        finally:
            process.kill()
            process.wait()


def until_it_grows(*files: Path) -> None:
    """Everybody has got something done since now."""
    before = [file.stat().st_size for file in files]
    wait_until(
        lambda: all(file.stat().st_size > size for file, size in zip(files, before, strict=True)),
        str([file.name for file in files]),
        seconds=WAIT_SECONDS,
    )


@pytest.mark.soak
def test_a_killed_postgresql_neither_loses_nor_duplicates_acknowledged_events(
    postgres: Cluster, tmp_path: Path
) -> None:
    processes = LakeProcesses(postgres, tmp_path / "var")
    pushed, flushed, counted = tmp_path / "pushed", tmp_path / "flushed", tmp_path / "counted"
    processes.run("prepare", pushed)
    flushed.write_text("")
    with processes.running("push", pushed), processes.running("flush", flushed):
        for _ in range(KILLS):
            until_it_grows(pushed, flushed)
            kill(postgres)
            postgres.start()
        until_it_grows(pushed, flushed)
    acknowledged = pushed.read_text().split()
    processes.run("count", counted)
    counts: dict[str, int] = json.loads(counted.read_text())
    assert set(acknowledged) <= counts.keys()
    assert set(counts.values()) == {EVENTS}, "a batch is there whole or not at all"
    assert len(counts) - len(acknowledged) <= KILLS + 1

"""`manage.py up`, as a person runs it: a real process with its own var/, PostgreSQL, server and worker."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from finops.processes import group_alive, process_name
from tests.waiting import threads

# Some 100 migrations on a machine that has other things to do.
PATIENCE = 240
pytestmark = pytest.mark.xdist_group("up")


class Console:
    """One run of `manage.py up` in a folder; reads what it prints."""

    def __init__(self, var_dir: Path, port: int, *arguments: str) -> None:
        self.var_dir, self.port = var_dir, port
        inherited = {
            name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "PUBLIC_URL")
        }
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--no-demo", "--port", str(port), *arguments],
            cwd=settings.BASE_DIR,
            env={**inherited, "VAR_DIR": str(var_dir), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self._lines.put(line.rstrip())
        self._lines.put(None)

    def wait_for(self, words: str) -> str:
        """The first line with these words; fails with all that was said when the output ends without."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            assert line is not None, f"{self.process.wait()}: did not say {words!r}:\n" + "\n".join(self.said)
            self.said.append(line)
            if words in line:
                return line

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def rest(self) -> str:
        """Everything it says until it ends by itself."""
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            self.said.append(line)
        self.process.wait(PATIENCE)
        return "\n".join(self.said)

    def children(self) -> dict[str, int]:
        noted = json.loads((self.var_dir / "up.json").read_text())["children"]
        return {child["name"]: child["pid"] for child in noted}

    def postgres(self) -> int:
        return int((self.var_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0])

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return str(answer.read().decode())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def var_dir() -> Iterator[Path]:
    """One folder for all tests here, as a checkout has one: the first start makes it, later ones find it."""
    folder = Path(tempfile.mkdtemp(prefix="finops-up-"))
    folder.chmod(0o755)
    yield folder / "var"
    shutil.rmtree(folder)


@contextmanager
def started(var_dir: Path) -> Iterator[Console]:
    running = Console(var_dir, free_port())
    try:
        running.wait_for("Ready after")
        yield running
    finally:
        if running.process.poll() is None:
            running.end()


@contextmanager
def waiting_clients(console: Console, count: int) -> Iterator[list[str]]:
    """Clients that connect now; their answers, once the block has ended."""
    answers: list[str] = []
    with threads(count) as call:
        asked = [call(console.get, "/healthz") for _ in range(count)]
        yield answers
        answers += [each.result() for each in asked]


@pytest.fixture
def console(var_dir: Path) -> Iterator[Console]:
    with started(var_dir) as running:
        yield running


@pytest.fixture(scope="class")
def kept(var_dir: Path) -> Iterator[Console]:
    """One run for the tests that leave it running: a start costs seconds."""
    with started(var_dir) as running:
        yield running


def test_it_says_what_it_does_serves_and_stops_all_on_ctrl_c(console: Console) -> None:
    said = "\n".join(console.said)
    for step in ("PostgreSQL", "Database tables", "Static files", "Web server", "Worker"):
        assert step in said
    assert f"http://127.0.0.1:{console.port}" in said
    assert console.get("/healthz") == "ok"
    assert json.loads(console.get("/readyz"))["ready"] is True
    running = [*console.children().values(), console.postgres()]
    assert console.end(signal.SIGINT) == 0
    assert [pid for pid in running if group_alive(pid)] == []
    assert "Stopped." in console.rest()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_kill_or_a_closed_terminal_stops_all_too(console: Console, number: signal.Signals) -> None:
    running = [*console.children().values(), console.postgres()]
    assert console.end(number) == 0
    assert [pid for pid in running if group_alive(pid)] == []


def test_a_busy_port_is_named_with_a_way_out(var_dir: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])
        refused = Console(var_dir, port)
        said = refused.rest()
    assert refused.process.returncode == 1
    assert f"Port {port} on 127.0.0.1 cannot be used" in said
    assert f"make run PORT={port + 1}" in said
    assert "Traceback" not in said


def test_after_a_kill_the_next_start_stops_what_was_left_and_runs(console: Console) -> None:
    left = [*console.children().values(), console.postgres()]
    console.end(signal.SIGKILL)
    assert [pid for pid in left if not group_alive(pid)] == []
    again = Console(console.var_dir, console.port)
    try:
        assert again.wait_for("An earlier start was killed").endswith(
            "web server, worker, import worker, insights worker, beat, PostgreSQL."
        )
        again.wait_for("Ready after")
        assert [pid for pid in left if group_alive(pid)] == []
        assert json.loads(again.get("/readyz"))["ready"] is True
    finally:
        again.end()


def test_an_unsafe_production_does_not_start(var_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINOPS_ENV", "production")
    refused = Console(var_dir, free_port())
    said = refused.rest()
    assert refused.process.returncode == 1
    assert "Refusing to start" in said
    assert "SECRET_KEY is not set" in said


class TestWhileItRuns:
    def test_a_second_start_says_who_runs_and_where(self, kept: Console) -> None:
        second = Console(kept.var_dir, free_port())
        said = second.rest()
        assert second.process.returncode == 1
        assert f"already runs (process {kept.process.pid}) at http://127.0.0.1:{kept.port}" in said
        assert "Traceback" not in said
        assert kept.get("/healthz") == "ok"

    def test_a_web_server_that_dies_is_started_again_and_refuses_nobody(self, kept: Console) -> None:
        os.killpg(kept.children()["web server"], signal.SIGKILL)
        # The socket is the supervisor's: who comes now waits for the next process.
        with waiting_clients(kept, 5) as answers:
            kept.wait_for("The web server ended with code -9; starting it again now")
            kept.wait_for("The web server answers again")
        assert answers == ["ok"] * 5

    def test_a_worker_that_cannot_run_ends_nothing_and_is_started_until_it_can(self, kept: Console) -> None:
        running = [kept.children()["web server"], kept.postgres()]
        shutil.move(kept.var_dir / "broker", kept.var_dir / "aside")
        (kept.var_dir / "broker").write_text("a file where a folder should be")
        os.killpg(kept.children()["worker"], signal.SIGKILL)
        for when in ("now", "in 1 s"):
            kept.wait_for(f"starting it again {when}")
        (kept.var_dir / "broker").unlink()
        shutil.move(kept.var_dir / "aside", kept.var_dir / "broker")
        kept.wait_for("The worker answers again")
        assert [pid for pid in running if not group_alive(pid)] == []
        assert json.loads(kept.get("/readyz"))["ready"] is True

    def test_a_database_that_dies_is_started_again(self, kept: Console) -> None:
        killed = kept.postgres()
        assert process_name(killed) == "postgres"
        os.kill(killed, signal.SIGKILL)
        kept.wait_for("PostgreSQL ended")
        kept.wait_for("PostgreSQL answers again")
        assert json.loads(kept.get("/readyz"))["ready"] is True

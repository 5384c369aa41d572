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
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.conf import settings as project
from pytest_django import Settings
from redis import Redis

from finops.management.commands import up
from finops.processes import is_group_alive, process_name
from finops.supervisor import STOP_SECONDS, StopSignals
from finops.web.server import listening_socket
from finops.worker.queues import QUEUES
from tests.database_template import dump_file, migrate_console
from tests.servers import activated, free_port
from tests.waiting import threads, wait_until

# Some 100 migrations on a machine that has other things to do.
PATIENCE = 240
pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.slow]


class Console:
    """One run of `manage.py up` in a folder; reads what it prints."""

    def __init__(
        self, var_dir: Path, port: int, *, listening: socket.socket | None = None, **environment: str
    ) -> None:
        self.var_dir, self.port = var_dir, port
        command = [sys.executable, "manage.py", "up", "--no-demo", "--port", str(port)]
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DATABASE_URL", "PUBLIC_URL", "REDIS_URL")
        }
        self.process = subprocess.Popen(
            command if listening is None else activated(listening, command),
            pass_fds=[] if listening is None else [listening.fileno()],
            cwd=project.BASE_DIR,
            env={**inherited, "VAR_DIR": str(var_dir), "PYTHONUNBUFFERED": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self._lines.put(line.rstrip())
        self._lines.put(None)

    def wait_for(self, *words: str) -> str:
        """Until lines with each of these have come, in any order; the last. Fails with all that it said when its output ends
        without."""
        missing, line = set(words), ""
        while missing:
            line = self._next_line(f"did not say {sorted(missing)}")
            missing -= {each for each in missing if each in line}
        return line

    def _next_line(self, failure: str) -> str:
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, f"{self.process.wait()}: {failure}:\n" + "\n".join(self.said)
        self.said.append(line)
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
        child_ids = json.loads((self.var_dir / "up.json").read_text())["children"]
        return {child["name"]: child["pid"] for child in child_ids}

    def postgres(self) -> int:
        return int((self.var_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0])

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
            return str(answer.read().decode())


@pytest.fixture(scope="module")
def var_dir() -> Iterator[Path]:
    """One folder for all tests here, as a checkout has one. Where the migrations have been dumped, its database has their
    tables already; in a fresh checkout, and in `make setups`, the first start applies them."""
    folder = Path(tempfile.mkdtemp(prefix="finops-up-"))
    folder.chmod(0o755)
    if (dump := dump_file()) is not None and dump.exists():
        migrate_console(folder / "var")
    yield folder / "var"
    shutil.rmtree(folder)


@contextmanager
def start_up(
    var_dir: Path, port: int = 0, listening: socket.socket | None = None, **environment: str
) -> Iterator[Console]:
    running = Console(var_dir, port or free_port(), listening=listening, **environment)
    try:
        running.wait_for("Ready after")
        yield running
    finally:
        end_if_running(running)


def end_if_running(console: Console) -> None:
    if console.process.poll() is None:
        console.end()


@contextmanager
def waiting_clients(console: Console, count: int) -> Iterator[list[str]]:
    """Clients that connect now; their answers, once the block has ended."""
    answers: list[str] = []
    with threads(count) as call:
        calls = [call(console.get, "/healthz") for _ in range(count)]
        yield answers
        answers += [each.result() for each in calls]


@pytest.fixture(scope="module")
def listening() -> Iterator[socket.socket]:
    """The socket is of who starts the console, as with systemd: clients that come meanwhile wait for the next start."""
    with listening_socket("127.0.0.1", 0) as waits:
        waits.listen()
        yield waits


@pytest.fixture(scope="class")
def running_console(var_dir: Path, listening: socket.socket) -> Iterator[Console]:
    """One run for all tests of a class: a start costs 18 s of CPU."""
    # Each second a program tells that it is not stuck, beat every five.
    with start_up(
        var_dir, listening.getsockname()[1], listening, HEARTBEAT_SILENT_SECONDS="5", WEB_PROCESSES="2"
    ) as running:
        yield running


def processes_of(console: Console) -> list[int]:
    return [*console.children().values(), console.postgres()]


def assert_clean_exit(console: Console, number: signal.Signals) -> None:
    running = processes_of(console)
    assert console.end(number) == 0
    assert [pid for pid in running if is_group_alive(pid)] == []
    assert "Stopped." in console.rest()


@pytest.mark.long
def test_a_restart_refuses_nobody_and_nothing_outlives_a_killed_supervisor(
    var_dir: Path, listening: socket.socket
) -> None:
    with ExitStack() as consoles:
        port = listening.getsockname()[1]
        first = consoles.enter_context(start_up(var_dir, port, listening, WEB_PROCESSES="2"))
        assert_clean_exit(first, signal.SIGINT)
        with waiting_clients(first, 2) as answers:
            second = consoles.enter_context(start_up(var_dir, port, listening, WEB_PROCESSES="2"))
        assert answers == ["ok"] * 2

        children = processes_of(second)
        second.end(signal.SIGKILL)
        wait_until(lambda: not any(map(is_group_alive, children)), seconds=STOP_SECONDS)
        third = consoles.enter_context(start_up(var_dir, port, listening, WEB_PROCESSES="2"))
        assert json.loads(third.get("/readyz"))["ready"] is True
        assert_clean_exit(third, signal.SIGHUP)


def test_a_busy_port_is_named_with_instructions(var_dir: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])
        second_console = Console(var_dir, port)
        output = second_console.rest()
    assert second_console.process.returncode == 1
    assert f"Port {port} on 127.0.0.1 cannot be used" in output
    assert f"make run PORT={port + 1}" in output
    assert "Traceback" not in output


def test_an_unsafe_production_does_not_start(var_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINOPS_ENV", "production")
    console_process = Console(var_dir, free_port())
    output = console_process.rest()
    assert console_process.process.returncode == 1
    assert "Refusing to start" in output
    assert "SECRET_KEY is not set" in output


def test_up_logs_are_log_records_where_logs_are_json(
    settings: Settings, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    settings.VAR_DIR, settings.LOG_FORMAT = tmp_path, "json"
    console = up.Up(up.Command(), "127.0.0.1", 1, StopSignals(), demo=False)
    with caplog.at_level("INFO"):
        with console._step("PostgreSQL") as details:
            details.append("started")
        console.say("")
        console.supervisor.say("The worker ended with code 1; starting it again now.")

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "PostgreSQL started (0.0 s)"),
        ("WARNING", "The worker ended with code 1; starting it again now."),
    ]


class TestWhileItRuns:
    def test_up_logs_its_steps_and_serves(self, running_console: Console) -> None:
        output = "\n".join(running_console.said)
        for step in ("PostgreSQL", "Redis", "Database tables", "Static files", "Web server", "Worker"):
            assert step in output
        assert f"http://127.0.0.1:{running_console.port}" in output
        assert running_console.get("/healthz") == "ok"
        assert json.loads(running_console.get("/readyz"))["ready"] is True

    def test_other_users_can_read_none_of_its_folders(self, running_console: Console) -> None:
        folders = [Path(folder) for folder, _folders, _files in os.walk(running_console.var_dir)]

        assert {"uploads", "redis", "static", "beat"} <= {folder.name for folder in folders}
        # PostgreSQL and Redis of root run as another user, who may pass through the folders above their own.
        var, servers = running_console.var_dir, ("postgres", "redis", "log")
        passed = [each for each in folders if each == var or each.relative_to(var).parts[0] in servers]
        open_folders = [
            str(each)
            for each in folders
            if each.stat().st_mode & (0o066 if os.geteuid() == 0 and each in passed else 0o077)
        ]
        assert open_folders == []

    def test_a_second_start_says_who_runs_and_where(self, running_console: Console) -> None:
        second = Console(running_console.var_dir, free_port())
        output = second.rest()
        assert second.process.returncode == 1
        assert (
            f"already runs (process {running_console.process.pid}) at http://127.0.0.1:{running_console.port}"
            in output
        )
        assert "Traceback" not in output
        assert running_console.get("/healthz") == "ok"

    def test_a_web_server_that_dies_is_started_again_and_refuses_nobody(
        self, running_console: Console
    ) -> None:
        before = running_console.children()
        for name in ("web server 1", "web server 2"):
            os.killpg(before[name], signal.SIGKILL)
        # The socket is the supervisor's: who comes now waits for the next process.
        with waiting_clients(running_console, 5) as answers:
            running_console.wait_for(*(f"The web server {number} answers again" for number in (1, 2)))
        assert answers == ["ok"] * 5

    @pytest.mark.long  # tests/finops/test_supervisor.py stops a program of its own
    def test_a_worker_and_beat_that_are_stuck_are_started_again(self, running_console: Console) -> None:
        # Beat's messages have come through every worker, so each has begun to beat.
        wait_until(lambda: set(json.loads(running_console.get("/readyz"))["checks"].values()) == {"ok"})
        before = running_console.children()
        for name in ("import worker", "beat"):
            os.kill(before[name], signal.SIGSTOP)
        running_console.wait_for(
            "The import worker is stuck (no heartbeat of worker); starting it again now.",
            "The import worker answers again",
            "The beat is stuck (no heartbeat of beat); starting it again now.",
            "The beat answers again",
        )
        after = running_console.children()
        assert {name for name in before if before[name] != after[name]} == {"import worker", "beat"}

    def test_a_worker_that_cannot_run_ends_nothing_and_is_started_until_it_can(
        self, running_console: Console
    ) -> None:
        running = [running_console.children()["web server 1"], running_console.postgres()]
        shutil.move(running_console.var_dir / "uploads", running_console.var_dir / "aside")
        (running_console.var_dir / "uploads").write_text("a file where a folder should be")
        os.killpg(running_console.children()["worker"], signal.SIGKILL)
        for when in ("now", "in 1 s"):
            running_console.wait_for(f"starting it again {when}")
        (running_console.var_dir / "uploads").unlink()
        shutil.move(running_console.var_dir / "aside", running_console.var_dir / "uploads")
        running_console.wait_for("The worker answers again")
        assert [pid for pid in running if not is_group_alive(pid)] == []
        assert json.loads(running_console.get("/readyz"))["ready"] is True

    def test_redis_that_dies_is_started_again_and_limits_and_messages_continue(
        self, running_console: Console
    ) -> None:
        url = (running_console.var_dir / "redis" / "url").read_text().strip()
        with Redis.from_url(url) as redis:
            redis.set("of the one that dies", 1)
            os.killpg(running_console.children()["Redis"], signal.SIGKILL)
            with waiting_clients(running_console, 2) as answers:
                running_console.wait_for(
                    "The Redis ended with code -9; starting it again now", "The Redis answers again"
                )
            assert answers == ["ok"] * 2
            wait_until(lambda: set(json.loads(running_console.get("/readyz"))["checks"].values()) == {"ok"})
            assert redis.get("of the one that dies") is None
            # Beat sends each queue a message, which a worker answers with a note.
            heartbeats = [redis.get(f"finops:alive:worker-{queue}") for queue in QUEUES]
            assert None not in heartbeats

    def test_a_database_that_dies_is_started_again(self, running_console: Console) -> None:
        killed = running_console.postgres()
        assert process_name(killed) == "postgres"
        os.kill(killed, signal.SIGKILL)
        running_console.wait_for("PostgreSQL ended")
        running_console.wait_for("PostgreSQL answers again")
        assert json.loads(running_console.get("/readyz"))["ready"] is True

    def test_nothing_outlives_a_killed_supervisor_and_the_next_start_refuses_nobody(
        self, running_console: Console, listening: socket.socket
    ) -> None:
        children = processes_of(running_console)
        running_console.end(signal.SIGKILL)
        wait_until(lambda: not any(map(is_group_alive, children)), seconds=STOP_SECONDS)
        following = Console(
            running_console.var_dir, running_console.port, listening=listening, WEB_PROCESSES="2"
        )
        try:
            with waiting_clients(following, 2) as answers:
                following.wait_for("Ready after")
            assert answers == ["ok"] * 2
            assert_clean_exit(following, signal.SIGTERM)
        finally:
            end_if_running(following)

"""A real web server in a separate process, for tests that use HTTP as a client does.

It has its own database, `var/` and port, so its rows are separate from those of other tests. Fill it with `run`,
which calls a function of a test module with the server's settings:

    def people() -> dict[str, str]:          # tests/conformance/people.py
        ...

    def test_it(live_server_process: LiveServer) -> None:
        made = live_server_process.run("tests.conformance.people:people")
        httpx.get(live_server_process.url + "/healthz")
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGTERM
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

import pytest
from django.conf import settings as django_settings
from django.db import connection

from finops.web.server import command
from tests.database_template import execute, template
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 180.0
END_SECONDS = 60.0
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)

# Answers each line of its input with one of its output. What the functions print goes to stderr.
_CALLS = """
import importlib, json, os, sys, traceback
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
import django
from finops.lib import garbage
with garbage.loading():
    django.setup()
from django.db import connections
for line in sys.stdin:
    function, arguments = json.loads(line)
    module, _, name = function.partition(":")
    try:
        said = {"result": getattr(importlib.import_module(module), name)(*arguments)}
    except Exception:
        said = {"failed": traceback.format_exc()}
    connections.close_all()
    print(json.dumps(said), file=answers)
# Python's own end of so large a process takes half a second, of which nobody needs anything.
os._exit(0)
"""

_ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


def activated(listening: socket.socket, command: list[str]) -> list[str]:
    """Return the command as systemd starts it with this socket (sd_listen_fds(3)); pass the socket's descriptor in
    `pass_fds`."""
    return [sys.executable, "-c", _ACTIVATE, str(listening.fileno()), *command]


class LiveServer:
    """A running server. `url` has no trailing slash."""

    keeps_caller = False
    _caller: subprocess.Popen[str] | None = None

    def __init__(self, url: str, environment: dict[str, str], log: Path) -> None:
        self.url = url
        self.environment = environment
        self.log = log

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/api/mcp"

    def manage(self, *arguments: str) -> str:
        """Run a management command on the server's data and return its output."""
        return _run([sys.executable, "manage.py", *arguments], self.environment)

    def run(self, function: str, *arguments: Any) -> Any:
        """Call `module:function` with the server's settings; arguments and result are JSON. For a server of `serve`
        the process is kept for the next call."""
        try:
            return self._call(function, *arguments)
        finally:
            if not self.keeps_caller:
                self.end_calls()

    def _call(self, function: str, *arguments: Any) -> Any:
        if self._caller is None:
            self._caller = self._start_caller()
        writes, reads = self._caller.stdin, self._caller.stdout
        assert writes is not None
        assert reads is not None
        writes.write(json.dumps([function, arguments]) + "\n")
        writes.flush()
        reply = json.loads(reads.readline() or '{"failed": "the process has gone; stderr has why"}')
        if "failed" in reply:
            raise RuntimeError(f"{function} failed:\n{reply['failed']}")
        return reply["result"]

    def end_calls(self) -> None:
        if self._caller is not None:
            self._caller.communicate()  # the end of its input ends it
            self._caller = None

    def _start_caller(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _CALLS],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=_end_with_the_tests,
        )


@pytest.fixture(scope="session")
def live_server_process(django_db_setup: None) -> Iterator[LiveServer]:
    """A server whose database is a copy of the test database, so that one is set up first."""
    with serve() as server:
        yield server


@contextmanager
def serve(**settings: str) -> Iterator[LiveServer]:
    """Yield a server with these environment variables. Takes a few seconds more if no database has been migrated yet."""
    port, copied = free_port(), template()
    with _database(copied) as database, tempfile.TemporaryDirectory(prefix="finops-live-") as var:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.live_settings",
            "DATABASE_URL": database,
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "VAR_DIR": var,
            **settings,
        }
        server = LiveServer(environment["PUBLIC_URL"], environment, Path(var) / "server.log")
        if copied is None:
            server.manage("migrate", "--verbosity=0")
        with _granian(server, port):
            server.keeps_caller = True
            try:
                yield server
            finally:
                server.end_calls()


@contextmanager
def serve_again(server: LiveServer, **settings: str) -> Iterator[LiveServer]:
    """Yield a second server on the data of another one, with these environment variables."""
    port = free_port()
    environment = {**server.environment, "PUBLIC_URL": f"http://127.0.0.1:{port}", **settings}
    log = Path(environment["VAR_DIR"]) / f"server-{port}.log"
    again = LiveServer(environment["PUBLIC_URL"], environment, log)
    with _granian(again, port):
        yield again


@contextmanager
def _granian(server: LiveServer, port: int) -> Iterator[None]:
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            command(host="127.0.0.1", port=port),
            cwd=ROOT,
            env=server.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_the_tests,
        )
    try:
        _wait_until_ready(server, process)
        yield
    finally:
        _end(process)
    assert process.returncode == 0, f"the server did not end cleanly:\n{server.log.read_text()[-4000:]}"


def _end_with_the_tests() -> None:
    """Ask Linux, in the child, for SIGTERM when the test process ends, so that a killed run leaves no server."""
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, SIGTERM)


def _wait_until_ready(server: LiveServer, process: subprocess.Popen[bytes]) -> None:
    def problem() -> str:
        return f"the server did not come up:\n{server.log.read_text()}"

    url = f"{server.url}/healthz"
    wait_until(
        lambda: process.poll() is not None or _answers(url), problem, seconds=READY_SECONDS, pause=0.05
    )
    assert process.poll() is None, problem()


def _answers(url: str) -> bool:
    try:
        urlopen(url, timeout=5).close()  # noqa: S310 - our own server on loopback
    except HTTPError as answer:
        answer.close()
        return True
    except (URLError, OSError):
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(SIGTERM)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _database(copied: str | None) -> Iterator[str]:
    """Yield the URL of a new database on the test run's PostgreSQL, without any rows."""
    name = f"live_{secrets.token_hex(6)}"
    admin = os.environ["DATABASE_URL"]
    execute(admin, f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{copied}"' if copied else ""))
    try:
        yield urlunsplit(urlsplit(admin)._replace(path=f"/{name}"))
    finally:
        execute(admin, f'DROP DATABASE "{name}" WITH (FORCE)')


def _run(command: list[str], environment: dict[str, str]) -> str:
    completed = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{completed.stdout}{completed.stderr}")
    return completed.stdout


def free_port() -> int:
    """Return an unused port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def database_url() -> str:
    """Return the URL of the test's own database, for another process."""
    name = str(connection.settings_dict["NAME"])
    return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))


def process_environment(**changes: str) -> dict[str, str]:
    """Return the environment of another process that works on the test's own database, files and lake."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
        "DATABASE_URL": database_url(),
        "DATABASE_POOL": "0",
        "VAR_DIR": str(django_settings.VAR_DIR),
        "LAKE_URL": str(django_settings.LAKE_URL),
        **changes,
    }

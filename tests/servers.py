"""A real web server in a process of its own, for tests that speak HTTP as a client does.

It has a database, a `var/` and a port of its own, so its rows never meet those of the tests around it. Fill it
through `run`, which calls a function of a test module inside the server's world:

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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGTERM
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

import psycopg
import pytest

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 60.0
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)

_CALL = """
import importlib, json, sys
import django
django.setup()
module, _, name = sys.argv[1].partition(":")
print(json.dumps(getattr(importlib.import_module(module), name)(*json.loads(sys.argv[2]))))
"""


class LiveServer:
    """A running server. `url` has no slash at its end."""

    def __init__(self, url: str, environment: dict[str, str], log: Path) -> None:
        self.url = url
        self.environment = environment
        self.log = log

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/api/mcp"

    def manage(self, *arguments: str) -> str:
        """Runs a management command against the server's data and gives what it printed."""
        return _run([sys.executable, "manage.py", *arguments], self.environment)

    def run(self, function: str, *arguments: Any) -> Any:
        """Calls `module:function` with the server's settings; arguments and result are JSON."""
        said = _run([sys.executable, "-c", _CALL, function, json.dumps(arguments)], self.environment)
        return json.loads(said.splitlines()[-1])


@pytest.fixture(scope="session")
def live_server_process() -> Iterator[LiveServer]:
    with serve() as server:
        yield server


@contextmanager
def serve(**settings: str) -> Iterator[LiveServer]:
    """A server with these environment variables set; takes a few seconds for the migrations."""
    port = free_port()
    with _database() as database, tempfile.TemporaryDirectory(prefix="finops-live-") as var:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.live_settings",
            "DATABASE_URL": database,
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "VAR_DIR": var,
            **settings,
        }
        server = LiveServer(environment["PUBLIC_URL"], environment, Path(var) / "server.log")
        server.manage("migrate", "--verbosity=0")
        with _granian(server, port):
            yield server


@contextmanager
def _granian(server: LiveServer, port: int) -> Iterator[None]:
    command = [
        sys.executable,
        "-m",
        "granian",
        "--interface",
        "wsgi",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    command += ["--workers", "1", "--blocking-threads", "8", "finops.wsgi:application"]
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            command,
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


def _end_with_the_tests() -> None:
    """In the child: ask Linux for SIGTERM when the test process dies, so that a killed run leaves no server."""
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, SIGTERM)


def _wait_until_ready(server: LiveServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if _answers(f"{server.url}/healthz"):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server did not come up:\n{server.log.read_text()}")


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
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _database() -> Iterator[str]:
    """A fresh, empty database on the test run's PostgreSQL."""
    name = f"live_{secrets.token_hex(6)}"
    admin = os.environ["DATABASE_URL"]
    _execute(admin, f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(urlsplit(admin)._replace(path=f"/{name}"))
    finally:
        _execute(admin, f'DROP DATABASE "{name}" WITH (FORCE)')


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)  # the name is our own hex


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""pytest plugin: every test run has its own PostgreSQL and its own `var/`.

The server is in a new folder with fsync off, so runs are independent and the checkout stays unchanged. The workers of
pytest-xdist share the server (pytest-django gives each a database). A watcher process (`tests/run_processes.py`) stops the
server, ends what tests started and removes the folder as soon as this process has ended, for whatever reason. A process that a
test leaves behind fails a run that comes to its end.

Set TEST_DATABASE_URL to run the tests on another server, with a role that may create databases.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from finops import embedded
from tests import run_processes

RUN_DIR = "TEST_RUN_DIR"
# For what was sent a signal at the end of a test.
END_SECONDS = 10
# A developer's settings of the product must not affect tests.
PRODUCT_VARIABLES = (
    "ALLOWED_HOSTS",
    "BEHIND_TLS_PROXY",
    "DATABASE_URL",
    "DEBUG",
    "EMAIL_URL",
    "FINOPS_ENV",
    "KEY_PEPPER",
    "LAKE_URL",
    "PORT",
    "PUBLIC_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "WEB_PROCESSES",
)
# The server and its watcher; empty in a worker of pytest-xdist.
_running: list[subprocess.Popen[bytes]] = []
_LEFT = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None, None, None]:
    """Wrap pytest-django's hook of this name, which reads Django's settings."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        _begin_run()
    os.environ["VAR_DIR"] = str(Path(os.environ[RUN_DIR]) / "var" / (worker or "main"))
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Serve static files directly from their source folders, in pages and by the live server: no collectstatic before
    a test."""
    from django.conf import settings

    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.PASSWORD_HASHERS = ["tests.hashers.QuickHasher", *settings.PASSWORD_HASHERS]
    # No thread writes outside of a test's transaction: records of calls wait until a test writes them.
    settings.ACTIVITY_WRITE_SECONDS = 0
    # As for the database: tests kill processes, never the machine, and an fsync takes milliseconds.
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _descriptor: None)
    _flush_filled_tables()


def _flush_filled_tables() -> None:
    from django.db.backends.postgresql.operations import DatabaseOperations

    from tests.flush import sql_flush

    pytest.MonkeyPatch().setattr(DatabaseOperations, "sql_flush", sql_flush)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when a test has left a process behind."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    _, alive = psutil.wait_procs(run_processes.left_behind(os.environ[RUN_DIR]), END_SECONDS)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            session.config.stash.setdefault(_LEFT, []).append(shlex.join(process.cmdline()))
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for command in terminalreporter.config.stash.get(_LEFT, []):
        terminalreporter.write_line(f"A test has left a process behind: {command}", red=True)


def pytest_unconfigure() -> None:
    """Close the watcher's input, at which it stops the server."""
    if os.environ.get("TEST_DATABASE_URL") and "PYTEST_XDIST_WORKER" not in os.environ:
        from tests.database_template import drop_template

        drop_template()
    for process in reversed(_running):
        if process.stdin is not None:
            process.stdin.close()
    while _running:
        _running.pop(0).wait()  # the server first: the watcher waits until nothing is left of it


@contextmanager
def throwaway_run() -> Iterator[None]:
    """Context manager for a script outside pytest with such a server."""
    _begin_run()
    try:
        yield
    finally:
        pytest_unconfigure()


def _begin_run() -> None:
    for name in PRODUCT_VARIABLES:
        os.environ.pop(name, None)
    directory = Path(tempfile.mkdtemp(prefix="finops-test-", dir=_short_temp_dir()))
    os.environ[RUN_DIR] = str(directory)
    url, server, folders = os.environ.get("TEST_DATABASE_URL"), 0, [directory]
    if not url:
        cluster = embedded.throwaway_cluster(directory)
        cluster.create()
        cluster.start()
        assert cluster.process is not None
        _running.append(cluster.process)
        url, server = cluster.url(), cluster.process.pid
        folders.append(cluster.socket)
    os.environ["DATABASE_URL"] = url
    _running.append(_watcher(server, folders))


def _watcher(server: int, folders: list[Path]) -> subprocess.Popen[bytes]:
    """Start the watcher, whose input closes at the end of the run, or when this process is killed."""
    command = [sys.executable, run_processes.__file__, str(server), *map(str, folders)]
    environment = {"PATH": os.environ.get("PATH", os.defpath)}  # without the name of the folder
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)


def _short_temp_dir() -> str | None:
    return "/tmp" if Path("/tmp").is_dir() else None  # noqa: S108 - mkdtemp makes a private folder in it

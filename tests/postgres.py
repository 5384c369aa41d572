"""pytest plugin: every test run has a PostgreSQL of its own, and a `var/` of its own.

The server lives in a fresh folder with fsync off, so two runs never meet and nothing of the checkout is
touched. The workers of pytest-xdist share it (pytest-django gives each its database). A watcher process stops
it and removes the folder as soon as this process is gone, whatever ended it.

Set TEST_DATABASE_URL to run the tests on another server, as a role that may create databases.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from finops import embedded

RUN_DIR = "TEST_RUN_DIR"
# What a developer may have set for the product must not decide what a test sees.
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


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None, None, None]:
    """Runs around pytest-django's hook of this name, which is where Django's settings are read."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        _begin_run()
    os.environ["VAR_DIR"] = str(Path(os.environ[RUN_DIR]) / "var" / (worker or "main"))
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Pages render, and the live server serves, straight from the source files: no collectstatic before a test."""
    from django.conf import settings

    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.PASSWORD_HASHERS = ["tests.hashers.QuickHasher", *settings.PASSWORD_HASHERS]
    # No thread writes beside a test's transaction: notes of calls wait until a test has them written.
    settings.ACTIVITY_WRITE_SECONDS = 0
    # As for the database: tests kill processes and never the machine, and a file takes milliseconds to reach its disk.
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _descriptor: None)
    _flush_filled_tables()


def _flush_filled_tables() -> None:
    from django.db.backends.postgresql.operations import DatabaseOperations

    from tests.flush import sql_flush

    pytest.MonkeyPatch().setattr(DatabaseOperations, "sql_flush", sql_flush)


def pytest_unconfigure() -> None:
    """The end of its input tells the watcher to stop the server."""
    if os.environ.get("TEST_DATABASE_URL") and "PYTEST_XDIST_WORKER" not in os.environ:
        from tests.migrated import drop_template

        drop_template()
    while _running:
        _running.pop().communicate()


@contextmanager
def throwaway_run() -> Iterator[None]:
    """The same for a script outside pytest."""
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
    given = os.environ.get("TEST_DATABASE_URL")
    os.environ["DATABASE_URL"] = given or _start_server(directory)


def _start_server(directory: Path) -> str:
    cluster = embedded.throwaway_cluster(directory)
    cluster.create()
    cluster.start()
    assert cluster.process is not None
    _running.append(cluster.process)
    _running.append(_watcher(cluster.process.pid, cluster))
    return cluster.url()


def _watcher(server: int, cluster: embedded.Cluster) -> subprocess.Popen[bytes]:
    """`read` returns when the pipe closes: at the end of the run, or when this process is killed."""
    folders = shlex.join(str(folder) for folder in {cluster.home.parent, cluster.socket})
    wait = f"while kill -0 {server} 2>/dev/null && [ -e {shlex.quote(str(cluster.data / 'postmaster.pid'))} ]"
    script = f"read _; kill -QUIT {server}; {wait}; do sleep 0.02; done; rm -rf {folders}"
    return subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True)


def _short_temp_dir() -> str | None:
    return "/tmp" if Path("/tmp").is_dir() else None  # noqa: S108 - mkdtemp makes a private folder in it

"""One database of a run is migrated, the others are copies of it: a copy takes a tenth of the migrations' seconds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper

from tests.postgres import RUN_DIR


def template() -> str | None:
    """The database that `CREATE DATABASE … TEMPLATE` copies; None before there is one, and outside of a run of tests."""
    if RUN_DIR not in os.environ:  # a benchmark
        return None
    name = _file()
    return name.read_text() if name.exists() else None


@contextmanager
def first_migrates() -> Iterator[None]:
    """Around the setup of a worker's test database. The others wait for the first, whose migrations they copy."""
    with Path(os.environ[RUN_DIR], "migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = template()
        if found is None:
            yield
            _keep()
            return
    connection.settings_dict["TEST"]["TEMPLATE"] = found
    yield


def drop_template() -> None:
    """On a server that outlives the run."""
    if name := template():
        execute(os.environ["DATABASE_URL"], f'DROP DATABASE IF EXISTS "{name}"')


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(statement)  # the names are our own


def _keep() -> None:
    made, admin = connection.settings_dict["NAME"], os.environ["DATABASE_URL"]
    if not made.startswith("test_"):
        return  # no test of this run uses the database
    # PostgreSQL copies no database that somebody is connected to.
    wrapper = connections["default"]
    assert isinstance(wrapper, DatabaseWrapper)
    wrapper.close()
    wrapper.close_pool()
    name = f"migrated_{Path(os.environ[RUN_DIR]).name}"
    execute(admin, f'CREATE DATABASE "{name}" TEMPLATE "{made}"')
    _file().write_text(name)


def _file() -> Path:
    return Path(os.environ[RUN_DIR], "migrated")

"""The script of a new database's tables (finops/database_schema.sql) makes what the migrations make."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings

from finops.database_schema import MIGRATION, SCRIPT, VERSION
from finops.embedded.cluster import MAJOR
from finops.embedded.paths import wheel_binaries
from tests.database_template import execute

pytestmark = pytest.mark.slow

SAME_SERVER = not os.environ.get("TEST_DATABASE_URL")
"""The script is for the PostgreSQL that comes along; on another server each migration is applied."""


def test_the_script_makes_what_each_migration_makes() -> None:
    with _database("each") as by_migrations, _database("read") as read, _database("script") as by_script:
        _migrate(by_migrations, "--each")
        # PostgreSQL writes some conditions otherwise once it has read what it wrote.
        with psycopg.connect(read) as connection:
            connection.execute(f"SET check_function_bodies = off; {_dump(by_migrations)}".encode())
        if os.environ.get("RECORD") and SAME_SERVER:
            SCRIPT.write_text(_header(by_migrations) + _dump(read))
        _migrate(by_script)

        assert _dump(by_script) == _dump(read)
        assert _names(by_script) == _names(by_migrations)
        assert _rows(by_script) == _rows(by_migrations)


def test_a_database_with_tables_and_one_of_a_newer_version_are_left_to_the_migrations(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _database("filled") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE others (id int)")
        assert not _created(url, SCRIPT.read_text(), tmp_path)
    with _database("newer") as url:
        assert not _created(url, f"{MIGRATION}accounts 9999_newer\n{SCRIPT.read_text()}", tmp_path)
        assert not _created(url, SCRIPT.read_text().replace(f"{VERSION}{MAJOR}", f"{VERSION}15"), tmp_path)
        assert _created(url, SCRIPT.read_text(), tmp_path) == SAME_SERVER


def test_a_script_that_fails_leaves_the_database_empty(tmp_path: Path) -> None:
    if not SAME_SERVER:
        return
    with _database("failed") as url:
        with pytest.raises(subprocess.CalledProcessError):
            _created(url, SCRIPT.read_text() + "CREATE TABLE half (", tmp_path)
        with psycopg.connect(url) as connection:
            tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
            assert tables.fetchone() == (0,)


@contextmanager
def _database(name: str) -> Iterator[str]:
    admin, name = os.environ["DATABASE_URL"], f"schema_{name}_{os.getpid()}"
    execute(admin, f'CREATE DATABASE "{name}"')
    try:
        yield urlsplit(admin)._replace(path=f"/{name}").geturl()
    finally:
        execute(admin, f'DROP DATABASE "{name}" WITH (FORCE)')


def _migrate(url: str, *arguments: str) -> None:
    _run(url, "manage.py", "migrate", "--verbosity=0", *arguments)


def _created(url: str, script: str, folder: Path) -> bool:
    file = folder / "script.sql"
    file.write_text(script)
    program = (
        "import django; django.setup(); from pathlib import Path; from django.db import connection;"
        "from finops import database_schema;"
        f"database_schema.SCRIPT = Path({str(file)!r});"
        "print(database_schema.create_tables(connection))"
    )
    return _run(url, "-c", program) == "True"


def _run(url: str, *arguments: str) -> str:
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "finops.settings"}
    command = [sys.executable, *arguments]
    result = subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, check=True, capture_output=True, text=True
    )
    return result.stdout.strip()


def _header(url: str) -> str:
    migrations = "".join(f"{MIGRATION}{app} {name}\n" for app, name in _names(url))
    return f"-- Written by tests/test_database_schema.py.\n{VERSION}{MAJOR}\n{migrations}"


def _names(url: str) -> list[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()


def _rows(url: str) -> dict[str, int]:
    """Of each table that has any, but for the record of migrations: what Django writes after migrating."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        names = [name for (name,) in tables.fetchall() if name != "django_migrations"]
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone() for name in names}
    return {name: count[0] for name, count in counts.items() if count and count[0]}


def _dump(url: str) -> str:
    """Without comments and settings: they are of the server and the moment."""
    command = [
        str(wheel_binaries() / "pg_dump"),
        "--schema-only",
        "--no-owner",
        "--no-privileges",
        "--dbname",
        url,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = (line for line in text.splitlines() if not line.startswith(("--", "SET ", "\\")))
    return "".join(f"{line}\n" for line in lines if line and "set_config('search_path'" not in line)

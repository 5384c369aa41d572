"""`manage.py migrate`: an empty database gets from the models what the migrations make; one of another version is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings

from tests.database_template import execute, migrate
from tests.interface.test_schema import TABLES, schema_lines

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

OLDER_KEY = {
    "auth_group_permissions.id bigint NOT NULL IDENTITY d",
    "auth_group_permissions.id integer NOT NULL IDENTITY d",
}
"""Django's migrations give this table, which has no row here, the project's key; the model has that of its app."""


def test_the_models_make_what_each_migration_makes() -> None:
    with _database("each") as by_migrations, _database("models") as by_models:
        _manage(by_migrations, "--each")
        _manage(by_models)

        assert _schema(by_models) ^ _schema(by_migrations) == OLDER_KEY
        assert _rows(by_models) == _rows(by_migrations)
        _manage(by_models)


def test_a_database_with_migrations_of_another_version_is_refused_and_left_as_it_is() -> None:
    with _database("other") as url:
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('accounts', '0027_earlier', now())"
            )
        assert "accounts.0027_earlier" in _refusal(url)
        assert "make clean-data" in _refusal(url)


def test_a_database_that_lacks_a_column_is_refused() -> None:
    with _database("column") as url:
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER TABLE accounts_account DROP COLUMN slug CASCADE")
        assert "accounts_account.slug" in _refusal(url)


def test_tables_of_another_program_stay_and_ours_are_added() -> None:
    with _database("shared") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE others (id int)")
        _manage(url)
        with psycopg.connect(url) as connection:
            count = connection.execute(
                "SELECT count(*) FROM pg_tables WHERE tablename IN ('others', 'accounts_account')"
            )
            assert count.fetchone() == (2,)


@contextmanager
def _database(name: str) -> Iterator[str]:
    admin, name = os.environ["DATABASE_URL"], f"tables_{name}_{os.getpid()}"
    execute(admin, f'CREATE DATABASE "{name}"')
    try:
        yield urlsplit(admin)._replace(path=f"/{name}").geturl()
    finally:
        execute(admin, f'DROP DATABASE "{name}" WITH (FORCE)')


def _manage(url: str, *arguments: str, check: bool = True) -> str:
    result = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0", *arguments],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "finops.settings"},
        check=check,
        capture_output=True,
        text=True,
    )
    return result.stdout + result.stderr


def _refusal(url: str) -> str:
    return _manage(url, check=False)


def _schema(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return set(schema_lines(connection.execute(TABLES.encode()).fetchall()))


def _rows(url: str) -> dict[str, int]:
    """Of each table that has any: the migrations, and what Django writes after them."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        names = [name for (name,) in tables.fetchall()]
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone() for name in names}
    return {name: count[0] for name, count in counts.items() if count and count[0]}

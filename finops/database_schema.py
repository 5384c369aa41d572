"""The tables of a new database as one script: the result of all migrations, in a twentieth of their time (ADR 0097).

`tests/test_database_schema.py` compares the script with the migrations, and rewrites it with RECORD=1. It may be older than
the newest migrations: those are applied after it.
"""

from __future__ import annotations

from pathlib import Path

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

SCRIPT = Path(__file__).with_suffix(".sql")
VERSION = "-- postgresql "
MIGRATION = "-- migration "


def create_tables(connection: BaseDatabaseWrapper) -> bool:
    """Create the script's tables and record its migrations. Returns False, with nothing changed, where the database has
    tables, is of another PostgreSQL than the script or has another schema than `public`, or the code does not have one of
    the migrations."""
    script = SCRIPT.read_text()
    migrations = [tuple(line.split()) for line in _values(script, MIGRATION)]
    if not _fits(connection, _values(script, VERSION)) or not _has_code_of(connection, migrations):
        return False
    recorder = MigrationRecorder(connection)
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        # Functions name tables that the script creates after them.
        cursor.execute("SET LOCAL check_function_bodies = off")
        cursor.execute(script)
        recorder.migration_qs.bulk_create(recorder.Migration(app=app, name=name) for app, name in migrations)
    return True


def _values(script: str, prefix: str) -> list[str]:
    return [line.removeprefix(prefix) for line in script.splitlines() if line.startswith(prefix)]


def _fits(connection: BaseDatabaseWrapper, versions: list[str]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema(), current_setting('server_version_num')::int / 10000")
        schema, major = cursor.fetchone()
    return schema == "public" and [str(major)] == versions and not connection.introspection.table_names()


def _has_code_of(connection: BaseDatabaseWrapper, migrations: list[tuple[str, ...]]) -> bool:
    loader = MigrationLoader(connection, load=False)
    loader.load_disk()
    return set(migrations) <= set(loader.disk_migrations)

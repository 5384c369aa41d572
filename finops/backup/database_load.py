"""Loads the rows of a backup into an empty database: migrate to the backup's state, load in one transaction, migrate to
this version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from finops.backup.database_dump import LARGE_TABLE_ROWS, part_text
from finops.backup.errors import BackupError, DamagedObject
from finops.backup.objects import ObjectStore
from finops.backup.records import BackupRecord, SequenceRecord, TableRecord
from finops.database_tables import create_tables

_OWN: Final = frozenset({"django_migrations"})
_IN_USE: Final = ("accounts_account", "accounts_user")


def check_migrations(record: BackupRecord) -> None:
    """Raise BackupError for a backup of a newer version, with migrations that this code does not have."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    installed = set(loader.disk_migrations)
    installed |= {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    missing = [
        f"{app}.{name}"
        for app, names in sorted(record.migrations.items())
        # Of a removed app, only the rows of django_migrations stay.
        if app in loader.migrated_apps or any(table.name.startswith(f"{app}_") for table in record.tables)
        for name in names
        if (app, name) not in installed
    ]
    if missing:
        raise BackupError(
            f"The backup is from a newer version or from one before 0.1.0: this version does not have {len(missing)} of its "
            f"migrations, such as {missing[-1]}. Install that version or a later one, and restore with it."
        )


def check_empty(record: BackupRecord, *, replace: bool) -> None:
    """Raise BackupError for a database with accounts or people unless they are to be replaced, and for one with tables of
    another program in any case."""
    tables = set(_tables())
    own = {table.name for table in record.tables} | set(connection.introspection.django_table_names()) | _OWN
    if foreign := sorted(tables - own):
        raise BackupError(
            f"The database has tables of another program, such as {foreign[0]}. Restore into a separate database."
        )
    with connection.cursor() as cursor:
        for table in (name for name in _IN_USE if name in tables and not replace):
            cursor.execute(sql.SQL("SELECT EXISTS (SELECT 1 FROM {})").format(sql.Identifier(table)))
            if cursor.fetchone()[0]:
                raise BackupError(
                    "The database has accounts or people. Restore into an empty database, or add --replace to delete "
                    "everything in it."
                )


def check_alone() -> None:
    """Raise BackupError while a program of the service is connected to the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        (connections,) = cursor.fetchone()
    if connections:
        raise BackupError(
            f"Other programs use the database ({connections} connections). Stop web, workers and beat, then restore."
        )


def load_database(store: ObjectStore, record: BackupRecord, progress: Callable[[str], None]) -> None:
    """Replace the database with that of the backup, migrated to this version. Its earlier content is lost. If interrupted,
    the database has no accounts, and the restore may be run again. Raises DamagedObject, BackupError."""
    if _migrations() != record.migrations:
        _drop_all()
        progress("Creating the tables of the backup's version")
        _create_tables(record.migrations)
    with transaction.atomic():
        with connection.cursor() as cursor:
            names = sql.SQL(", ").join(sql.Identifier(table.name) for table in record.tables)
            cursor.execute(sql.SQL("TRUNCATE {}").format(names))
        for table in record.tables:
            _load_table(store, table)
            if table.rows >= LARGE_TABLE_ROWS:
                progress(f"Table {table.name}: {table.rows:,} rows")
        _set_sequences(record.sequences)
    progress("Migrating to this version")
    call_command("migrate", interactive=False, verbosity=0)


def _migrations() -> dict[str, list[str]]:
    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        applied.setdefault(app, []).append(name)
    return applied


def _tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname"
        )
        return [name for (name,) in cursor.fetchall()]


def _drop_all() -> None:
    tables = _tables()
    with transaction.atomic(), connection.cursor() as cursor:
        if tables:
            names = sql.SQL(", ").join(map(sql.Identifier, tables))
            cursor.execute(sql.SQL("DROP TABLE {} CASCADE").format(names))
        cursor.execute(
            "SELECT oid::regprocedure::text FROM pg_proc p WHERE pronamespace = current_schema()::regnamespace"
            " AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
        )
        for (function,) in cursor.fetchall():
            cursor.execute(f"DROP FUNCTION {function} CASCADE")  # a name of the catalogue, quoted by it
    connection.close()  # its prepared statements refer to the earlier tables


def _create_tables(migrations: Mapping[str, Sequence[str]]) -> None:
    """Of this version in seconds; of an older one by its migrations, in a minute."""
    executor = MigrationExecutor(connection)
    applied = {(app, name) for app, names in migrations.items() for name in names}
    nodes = executor.loader.graph.node_map
    if applied == set(nodes):
        create_tables(connection)
    else:
        leaves = [
            key
            for key in sorted(applied & set(nodes))
            if not any(child.key[0] == key[0] and child.key in applied for child in nodes[key].children)
        ]
        executor.migrate(leaves)
    connection.close()


def _load_table(store: ObjectStore, table: TableRecord) -> None:
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.columns))
    )
    with connection.cursor() as cursor:
        with cursor.copy(query) as copy:
            for part in table.parts:
                copy.write(part_text(store, part))
        if cursor.rowcount != table.rows:
            raise DamagedObject(f"Table {table.name} has {cursor.rowcount:,} rows, not {table.rows:,}.")


def _set_sequences(sequences: Sequence[SequenceRecord]) -> None:
    with connection.cursor() as cursor:
        for each in sequences:
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(quote_ident(%s), %s), %s)",
                [each.table, each.column, each.last_value],
            )

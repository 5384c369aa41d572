"""The tables of an empty database, created from the models: what the migrations make, in a twentieth of their time.

Django renders the models of every app again at each step of a migration, although no row is there to be changed. The
tables and functions of the migrations' own SQL (`RunSQL`) are added; data migrations would find no row.
`tests/test_database_tables.py` compares the result with that of the migrations.
"""

from __future__ import annotations

from django.apps import apps
from django.core.management import CommandError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

START_ANEW = (
    "Start anew (`make clean-data` removes the data of this checkout), or export the accounts with the version that "
    "wrote them and import the files here."
)


def create_tables(connection: BaseDatabaseWrapper) -> None:
    """Create all tables in an empty database, and record all migrations as applied, in one transaction."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    recorder = MigrationRecorder(connection)
    with connection.schema_editor(atomic=True) as editor:
        editor.create_model(recorder.Migration)
        for model in apps.get_models():
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        state = ProjectState()
        for migration, _backwards in plan:
            for operation in migration.operations:
                if isinstance(operation, RunSQL):
                    operation.database_forwards(migration.app_label, editor, state, state)
        recorder.migration_qs.bulk_create(
            recorder.Migration(app=migration.app_label, name=migration.name) for migration, _backwards in plan
        )


def check_migrations(connection: BaseDatabaseWrapper) -> None:
    """Raise CommandError if migrations are applied that this version does not have."""
    executor = MigrationExecutor(connection)
    applied, known = executor.loader.applied_migrations, executor.loader.disk_migrations
    if unknown := sorted(
        key for key in applied if key[0] in executor.loader.migrated_apps and key not in known
    ):
        app, name = unknown[-1]
        raise CommandError(
            f"The database is of a newer version or of one before 0.1.0: it has the migration {app}.{name}, which this "
            f"version does not have. {START_ANEW}"
        )


def check_columns(connection: BaseDatabaseWrapper) -> None:
    """Raise CommandError if a model has a column that its table lacks."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        )
        existing = set(cursor.fetchall())
    expected = {
        (model._meta.db_table, field.column)
        for model in apps.get_models(include_auto_created=True)
        if model._meta.can_migrate(connection)
        for field in model._meta.local_concrete_fields
    }
    if missing := sorted(expected - existing):
        raise CommandError(
            f"The database was made by a version before 0.1.0: it has no column {missing[0][0]}.{missing[0][1]}. {START_ANEW}"
        )

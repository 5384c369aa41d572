"""Django's migrate command; it creates the tables of an empty database from the models, and refuses one of another version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections

from finops.database_tables import check_columns, check_migrations, create_tables

OTHER_TASKS = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--each", action="store_true", help="apply each migration, also in an empty database"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if any(options[task] for task in OTHER_TASKS):
            super().handle(*args, **options)
            return
        connection = connections[options["database"]]
        if not connection.introspection.table_names():
            if not options["each"]:
                create_tables(connection)
        else:
            check_migrations(connection)
        super().handle(*args, **options)
        check_columns(connection)

"""Django's migrate command; in an empty database it starts with the script of all tables."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections

from finops.database_schema import create_tables

OTHER_TASKS = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--each", action="store_true", help="apply each migration, also in an empty database"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["each"] and not any(options[task] for task in OTHER_TASKS):
            create_tables(connections[options["database"]])
        super().handle(*args, **options)

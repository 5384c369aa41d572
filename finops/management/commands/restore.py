"""`manage.py restore TARGET`: database and lake of a backup, into an empty database (docs/operations.md)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from finops.backup import restoration
from finops.backup.lake_check import check_lake
from finops.backup.targets import open_target
from finops.lib.errors import UserError
from finops.management.commands.backup import chosen_encryption
from finops.management.commands.check_lake import report


class Command(BaseCommand):
    help = "Restore a backup. Stop web, workers and beat first. Exit code 1: nothing restored, or files are missing."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", help="a folder, or s3://bucket/prefix")
        parser.add_argument("--backup", default="", help="id of the backup (default: the newest)")
        parser.add_argument("--key-file", help="file with the backup key (default: BACKUP_KEY)")
        parser.add_argument(
            "--replace", action="store_true", help="delete the contents of the database, if it is not empty"
        )
        parser.add_argument(
            "--other-keys", action="store_true", help="restore under another SECRET_KEY or KEY_PEPPER"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.quiet = options["verbosity"] == 0
        try:
            result = restoration.restore_backup(
                target=open_target(options["target"]),
                encryption=chosen_encryption(options["key_file"]),
                progress=self._say,
                backup_id=options["backup"],
                replace=options["replace"],
                other_keys=options["other_keys"],
            )
        except UserError as error:
            raise CommandError(error.message) from error
        self._report(result)

    def _report(self, result: restoration.RestoreResult) -> None:
        record = result.record
        self._say(
            f"Restored {record.id}: {sum(table.rows for table in record.tables):,} rows of {len(record.tables)} tables, "
            f"{len(record.lake) - len(result.missing):,} lake files, {len(record.uploads):,} waiting uploads."
        )
        report(check_lake(repair=False, backup=None, progress=self._say), self.stdout, quiet=self.quiet)

    def _say(self, text: str) -> None:
        if not self.quiet:
            self.stdout.write(text)
            self.stdout.flush()

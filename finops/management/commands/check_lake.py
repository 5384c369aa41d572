"""`manage.py check_lake [--repair] [--from TARGET]`: whether the lake has what its manifest says (docs/operations.md)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from finops.backup.lake_check import BackupFiles, CheckResult, check_lake
from finops.backup.objects import ObjectStore
from finops.backup.restoration import check_key
from finops.backup.services import read_record
from finops.backup.targets import open_target
from finops.lake.storage.storage import StorageUnreachable
from finops.lib.errors import UserError
from finops.lib.formats.numbers import plural
from finops.management.commands.backup import chosen_encryption


class Command(BaseCommand):
    help = "Compare manifest, files, checksums and sums of the lake. Exit code 1: problems found."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="repair what can be")
        parser.add_argument(
            "--from", dest="target", help="backup target to restore missing and damaged files from"
        )
        parser.add_argument("--backup", default="", help="id of the backup (default: the newest)")
        parser.add_argument("--key-file", help="file with the backup key (default: BACKUP_KEY)")

    def handle(self, *args: Any, **options: Any) -> None:
        self.quiet = options["verbosity"] == 0
        try:
            result = check_lake(repair=options["repair"], backup=_backup(options), progress=self._say)
        except UserError as error:
            raise CommandError(error.message) from error
        except StorageUnreachable as error:
            raise CommandError(f"The lake's storage does not answer: {error}. Try again later.") from error
        report(result, self.stdout, quiet=self.quiet)

    def _say(self, text: str) -> None:
        if not self.quiet:
            self.stdout.write(text)
            self.stdout.flush()


def report(result: CheckResult, output: OutputWrapper, *, quiet: bool) -> None:
    """Print each problem with what to do. Raises CommandError if one remains."""
    for problem in result.problems:
        state = "Repaired." if problem.is_repaired else problem.advice
        output.write(f"{problem.path} {problem.text}. {state}")
    if not quiet:
        output.write(
            f"Checked {result.files:,} segments with {result.rows:,} rows. "
            f"Compared with imports: {result.compared:,} of {result.cost_files:,} segments of cost."
        )
    if not result.is_sound:
        count = sum(not problem.is_repaired for problem in result.problems)
        raise CommandError(f"{count} {plural('problems', count)} left in the lake.")
    if not quiet:
        output.write("No problems found in the lake.")


def _backup(options: dict[str, Any]) -> BackupFiles | None:
    """Raises BackupError."""
    if not options["target"]:
        return None
    target = open_target(options["target"])
    record = read_record(target, options["backup"])
    encryption = chosen_encryption(options["key_file"])
    check_key(record, encryption)
    return BackupFiles(ObjectStore(target, encryption), record.lake)

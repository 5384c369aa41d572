"""`manage.py backup TARGET`: database and lake at one moment, into a folder or s3://bucket/prefix (docs/operations.md)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from finops.backup import services
from finops.backup.encryption import Encryption, encryption_of, key_file, new_key
from finops.backup.models import BackupRun
from finops.backup.runs import run_backup
from finops.backup.targets import BackupTarget, open_target
from finops.lib.errors import UserError


class Command(BaseCommand):
    help = "Back up database and lake at one point in time. Exit code 1: no backup, or lake files are missing in it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "target", nargs="?", help="a folder, or s3://bucket/prefix (default: BACKUP_TARGET)"
        )
        parser.add_argument("--key-file", help="file with the backup key (default: BACKUP_KEY)")
        parser.add_argument(
            "--verify-all",
            action="store_true",
            help="read older files of the backup too, and store damaged ones again",
        )
        parser.add_argument(
            "--keep", type=int, help="remove older backups but the newest so many (default: none)"
        )
        parser.add_argument("--list", action="store_true", help="list the backups of the target and exit")
        parser.add_argument("--new-key", action="store_true", help="print a new key and exit")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["new_key"]:
            identity, recipient = new_key()
            self.stdout.write(f"# public key: {recipient}\n{identity}")
            return
        place = options["target"] or settings.BACKUP_TARGET
        if not place:
            raise CommandError("Name a target: a folder, or s3://bucket/prefix.")
        if options["keep"] is not None and options["keep"] < 1:
            raise CommandError("--keep must be 1 or more.")
        self.quiet = options["verbosity"] == 0
        try:
            target = open_target(place)
            if options["list"]:
                self._list(target)
                return
            encryption = chosen_encryption(options["key_file"])
            result = run_backup(
                target=target.name,
                open_backup=lambda: (target, encryption),
                trigger=BackupRun.Trigger.COMMAND,
                keep=options["keep"],
                progress=self._say,
                verify_all=options["verify_all"],
            )
        except UserError as error:
            raise CommandError(error.message) from error
        self._report(result)

    def _list(self, target: BackupTarget) -> None:
        for backup_id in services.backup_ids(target):
            record = services.read_record(target, backup_id)
            size = sum(each.stored_bytes for each in record.objects.values())
            missing = f", {len(record.missing):,} lake files missing" if record.missing else ""
            self.stdout.write(f"{backup_id}  {len(record.lake):,} lake files, {size:,} bytes{missing}")

    def _report(self, result: services.BackupResult) -> None:
        record = result.record
        rows = ", ".join(f"{kind} {count:,}" for kind, count in services.sums(record).items())
        self._say(
            f"Backup {record.id} is complete and verified: {len(record.lake):,} lake files, rows: {rows}. "
            f"New: {result.new_files:,} files, {result.new_bytes:,} bytes."
        )
        self._say("Not encrypted. Set BACKUP_KEY to encrypt." if not record.recipient else "Encrypted.")
        self._say(
            "Not in the backup: SECRET_KEY, SECRET_KEY_FALLBACKS, KEY_PEPPER and BACKUP_KEY. Keep them elsewhere: without them "
            "sealed secrets cannot be read and no key of a customer works."
        )
        if record.missing:
            raise CommandError(
                f"{len(record.missing)} files of the lake are missing or damaged, and not in the backup. "
                "Run `manage.py check_lake`.",
                returncode=1,
            )

    def _say(self, text: str) -> None:
        if not self.quiet:
            self.stdout.write(text)
            self.stdout.flush()


def chosen_encryption(path: str | None) -> Encryption:
    """The encryption of the key file, or else of BACKUP_KEY. Raises BackupError."""
    return key_file(path) if path else encryption_of(settings.BACKUP_KEY)

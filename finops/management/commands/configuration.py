"""manage.py configuration export|plan|apply: an account's configuration as a YAML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import Actor
from accounts.models import Account
from finops.configuration.services import (
    ConfigurationChange,
    apply_configuration,
    export_configuration,
    plan_configuration,
)
from finops.lib.errors import UserError


class Command(BaseCommand):
    help = "Export an account's configuration as YAML, or plan and apply a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("export", "plan", "apply"))
        parser.add_argument("account", help="slug of the account")
        parser.add_argument("file", nargs="?", default="-", help="YAML file; - for standard input")
        parser.add_argument("--kind", action="append", default=[], help="export only this type")
        parser.add_argument("--delete", action="store_true", help="delete rows that the file leaves out")

    def handle(
        self, *_: Any, action: str, account: str, file: str, kind: list[str], delete: bool, **__: Any
    ) -> None:
        row = Account.objects.filter(slug=account).first()
        if row is None:
            raise CommandError(f"Account {account!r} does not exist.")
        try:
            if action == "export":
                self.stdout.write(export_configuration(row, kind), ending="")
                return
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
            if action == "plan":
                changes = plan_configuration(row, text, delete=delete)
            else:
                actor = Actor.command("configuration")
                changes = apply_configuration(account=row, actor=actor, text=text, delete=delete)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{file} is not a text file in UTF-8.") from error
        except UserError as error:
            raise CommandError(f"{error.message} Nothing was changed.") from error
        self.stdout.write("".join(_line(change) for change in changes) or "No changes.\n", ending="")


def _line(change: ConfigurationChange) -> str:
    fields = f": {', '.join(change.fields)}" if change.fields else ""
    return f"{change.action} {change.kind} {change.name}{fields}\n"

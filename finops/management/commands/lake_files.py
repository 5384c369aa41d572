"""`manage.py lake_files ACCOUNT`: the Parquet files that hold an account's cost or usage now (docs/reading-the-lake.md)."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lake.queries import CurrentFile, data_range, lake_files
from finops.lake.schema import Kind
from finops.lib.formats.numbers import plural


class Command(BaseCommand):
    help = "List the Parquet files that hold an account's cost or usage now."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", help="slug of the account")
        parser.add_argument("--kind", choices=[kind.value for kind in Kind], default=Kind.COST.value)
        parser.add_argument(
            "--format",
            dest="writer",
            choices=("text", "json", "duckdb"),
            default="text",
            help="one URL a line; one JSON object a line, with month, source, rows, bytes and SHA-256; or a SELECT for DuckDB",
        )

    def handle(self, *_: Any, account: str, kind: str, writer: str, **__: Any) -> None:
        row = Account.objects.filter(slug=account).first()
        if row is None:
            raise CommandError(f"Account {account!r} does not exist.")
        with account_scope(row):
            everything = data_range(row, Kind(kind))
            files = lake_files(row, Kind(kind))
        if everything is None:
            raise CommandError(f"{row.name} has no {kind} in the lake.")
        waiting = everything.rows - sum(file.rows for file in files)
        if waiting > 0:
            self.stderr.write(
                f"In no file yet: {waiting:,} usage {plural('events', waiting)}. Try again in a minute."
            )
        self.stdout.write(WRITERS[writer](files))


def _text(files: list[CurrentFile]) -> str:
    return "\n".join(_url(file) for file in files)


def _json(files: list[CurrentFile]) -> str:
    return "\n".join(
        json.dumps(
            {
                "url": _url(file),
                "source": file.source_id,
                "month": file.month.isoformat(),
                "rows": file.rows,
                "bytes": file.bytes,
                "sha256": file.checksum,
            }
        )
        for file in files
    )


def _duckdb(files: list[CurrentFile]) -> str:
    urls = ", ".join("'" + _url(file).replace("'", "''") + "'" for file in files)
    return f"SELECT * FROM read_parquet([{urls}], union_by_name = true)"  # noqa: S608 - printed, never run here


def _url(file: CurrentFile) -> str:
    return f"{settings.LAKE_URL.rstrip('/')}/{file.path}"


WRITERS = {"text": _text, "json": _json, "duckdb": _duckdb}

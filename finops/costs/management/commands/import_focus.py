from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.lib.errors import UserError, nearest


class Command(BaseCommand):
    help = "Import FOCUS files (CSV, CSV in gzip, Parquet) into a cost source. Their billing months are replaced."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", required=True, metavar="SLUG", help="the account, as in /a/SLUG/")
        parser.add_argument(
            "--source", required=True, metavar="NAME", help="the cost source; made when missing"
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="COLUMN=VALUE",
            help="a value, for every row, of a column that the files lack; @OtherColumn copies that column",
        )
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        account = _account(options["account"])
        with account_scope(account):
            try:
                self._import(account, options)
            except UserError as error:
                raise CommandError(error.message) from error
            except ValidationError as error:
                raise CommandError(" ".join(error.messages)) from error

    def _import(self, account: Account, options: dict[str, Any]) -> None:
        actor = Actor.command("import_focus")
        name, defaults = options["source"].strip(), _defaults(options["set"])
        source = CostSource.objects.filter(name=name).first()
        source = source or services.create_cost_source(account=account, name=name, actor=actor)
        done = services.import_files(
            account=account,
            source=source,
            paths=options["files"],
            actor=actor,
            defaults=defaults,
            told=self._show if sys.stderr.isatty() else None,
        )
        self._report(done)

    def _show(self, job: CostImport) -> None:
        self.stderr.write(f"\r{job.stage:<20} {job.percent:3d} %  {job.rows:,} rows ", ending="")

    def _report(self, job: CostImport) -> None:
        report = job.report
        for file in report.get("files", ()):
            self.stdout.write(
                f"{file['name']}: {file['format']}, FOCUS {file['focus_version']} {file['dataset']}, {file['rows']:,} rows"
            )
        for month in report.get("months", ()):
            totals = ", ".join(
                f"{total['currency']} {total['billed_cost']} billed, {total['effective_cost']} effective"
                for total in month["totals"]
            )
            self.stdout.write(f"{month['month']}: {month['rows']:,} rows, {totals}")
        for finding in report.get("findings", ()):
            self.stdout.write(
                f"  {finding['message']} {finding.get('rows', 0):,} rows, first: {finding.get('first', '')}"
            )
        if report.get("commitments"):
            self.stdout.write(f"{report['commitments']:,} contract commitments")
        self.stdout.write(self.style.SUCCESS(f"Imported {job.rows:,} rows into {job.source.name}."))


def _account(slug: str) -> Account:
    account = Account.objects.filter(slug=slug).first()
    if account is None:
        known = list(Account.objects.order_by("slug").values_list("slug", flat=True))
        close = ", ".join(nearest(slug, known) or known[:10]) or "there is none yet"
        raise CommandError(f"There is no account {slug!r}. Accounts: {close}.")
    return account


def _defaults(pairs: list[str]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise CommandError(f"--set {wrong[0]}: write it as Column=value.")
    return dict(pair.split("=", 1) for pair in pairs)

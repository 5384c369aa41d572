from __future__ import annotations

import sys
from argparse import ArgumentParser
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.values import DateOrder, NumberFormat
from finops.costs.import_decision import Decision
from finops.costs.models import CostImport, CostSource
from finops.lib.errors import UserError, nearest_choices

TABLE = "{:8} {:4} {:>18} {:>18} {:>18} {:>18}"

NEEDS_REVIEW = 3
"""The exit code if nothing was imported because the import needs review."""


class Command(BaseCommand):
    help = "Import FOCUS files (CSV, CSV in gzip, Parquet, or these in a ZIP) into a cost source. Their billing months are replaced."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", required=True, metavar="SLUG", help="the account, as in /a/SLUG/")
        parser.add_argument(
            "--source", required=True, metavar="NAME", help="the cost source; created if missing"
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="COLUMN=VALUE",
            help="a value for a column that is missing in the files; @OtherColumn copies that column",
        )
        parser.add_argument(
            "--confirm",
            action="store_true",
            help="import even what needs review: a billing month that shrinks, grows or changes its currency",
        )
        parser.add_argument(
            "--as-corrections",
            action="store_true",
            help="with --confirm: add the months that need review as corrections instead of replacing them",
        )
        parser.add_argument(
            "--decimal",
            choices=[each.value for each in NumberFormat],
            default="",
            help="decimal separator of all the files; default: detected for each file",
        )
        parser.add_argument(
            "--dates",
            choices=[each.value for each in DateOrder],
            default="",
            help="order of dates such as 05/09/2026 in all the files; default: detected for each file",
        )
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        account = _account(options["account"])
        with account_scope(account):
            try:
                self._import(account, options)
            except services.NeedsReview as refused:
                self._changes(refused.job)
                raise CommandError(
                    f"{refused.message} Nothing was changed. To import it anyway, add --confirm; to add the months"
                    " named above as corrections instead of replacing them, --confirm --as-corrections.",
                    returncode=NEEDS_REVIEW,
                ) from refused
            except UserError as error:
                raise CommandError(error.message) from error
            except ValidationError as error:
                raise CommandError(" ".join(error.messages)) from error

    def _import(self, account: Account, options: dict[str, Any]) -> None:
        actor = Actor.command("import_focus")
        if options["as_corrections"] and not options["confirm"]:
            raise CommandError("--as-corrections needs --confirm.")
        name, defaults = options["source"].strip(), _defaults(options["set"])
        source = CostSource.objects.filter(name=name).first()
        source = source or services.create_cost_source(account=account, name=name, actor=actor)
        done = services.import_files(
            account=account,
            source=source,
            paths=options["files"],
            actor=actor,
            defaults=defaults,
            formats=FormatChoice.of(options["decimal"], options["dates"]),
            on_progress=self._show if sys.stderr.isatty() else None,
            origin=CostImport.Origin.COMMAND,
            decision=Decision(add_all=options["as_corrections"]) if options["confirm"] else None,
            in_child=True,
        )
        self._report(done)
        self._changes(done)
        self.stdout.write(self.style.SUCCESS(f"Imported {done.rows:,} rows into {done.source.name}."))

    def _show(self, job: CostImport) -> None:
        self.stderr.write(f"\r{job.stage:<20} {job.percent:3d} %  {job.rows:,} rows ", ending="")

    def _report(self, job: CostImport) -> None:
        report = job.report
        for file in report.get("files", ()):
            self.stdout.write(f"{file['name']}: {file['format']}, {_kind(file)}, {file['rows']:,} rows")
            self._show_format("numbers like", file, "number_format")
            self._show_format("dates as", file, "date_order")
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
        for name in ("commitments", "invoice_details", "billing_periods"):
            if report.get(name):
                noun = "contract commitments" if name == "commitments" else name.replace("_", " ")
                self.stdout.write(f"{report[name]:,} {noun}")

    def _changes(self, job: CostImport) -> None:
        """Return the source's sums before and with the import, and the reasons for a review."""
        changes = [change for change in job.report.get("changes", ()) if change["rows_before"]]
        if changes:
            self.stdout.write(
                TABLE.format("month", "", "billed before", "after", "effective before", "after")
            )
        for change in changes:
            amounts = ("billed_before", "billed_after", "effective_before", "effective_after")
            shown = [f"{Decimal(change[name]):,.2f}" for name in amounts]
            self.stdout.write(TABLE.format(change["month"], change["currency"], *shown))
        for review in job.report.get("reviews", ()):
            self.stdout.write(self.style.WARNING(review["reason"]))
        for note in job.report.get("notes", ()):
            self.stdout.write(self.style.WARNING(note))

    def _show_format(self, words: str, file: dict[str, Any], field: str) -> None:
        because = file.get(f"{field}_because")
        if because:
            self.stdout.write(f"  {words} {file[field]} ({because})")


def _account(slug: str) -> Account:
    account = Account.objects.filter(slug=slug).first()
    if account is None:
        slugs = list(Account.objects.order_by("slug").values_list("slug", flat=True))
        close = ", ".join(nearest_choices(slug, slugs) or slugs[:10]) or "there is none yet"
        raise CommandError(f"There is no account {slug!r}. Accounts: {close}.")
    return account


def _defaults(pairs: list[str]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise CommandError(f"--set {wrong[0]}: write it as Column=value.")
    return dict(pair.split("=", 1) for pair in pairs)


def _kind(file: dict[str, Any]) -> str:
    """Return the kind of a file of the report: FOCUS with its version, or a native format."""
    return file.get("native_format") or f"FOCUS {file.get('focus_version', '')} {file['dataset']}"

"""`manage.py load_demo`: a year of cost and usage of an invented company, for a first impression.

`finops.demo` is no installed app; in the product only this command and *Try with sample data* import it.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from finops.demo import handout
from finops.demo.generate import MONTHS
from finops.demo.loader import load
from finops.demo.people import COLLEAGUES
from finops.lib.errors import UserError


class Command(BaseCommand):
    help = (
        "Load the demo company, its members and its MCP keys, or update them to yesterday. Safe to run twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        either = parser.add_mutually_exclusive_group()
        either.add_argument(
            "--if-empty", action="store_true", help="keep the demo's cost and usage if it exists"
        )
        either.add_argument(
            "--reset", action="store_true", help="remove the demo's accounts and people first"
        )
        parser.add_argument(
            "--months",
            type=int,
            default=MONTHS,
            help=f"months of cost and usage, this one included (default {MONTHS})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError(
                "A production console has no demo data. `make run` in a separate checkout starts a console with it. "
                "To load it into this database anyway: FINOPS_ENV=development manage.py load_demo, with the "
                "other variables as they are."
            )
        self.quiet = options["verbosity"] == 0
        try:
            loaded = load(
                self._say, reset=options["reset"], if_empty=options["if_empty"], months=options["months"]
            )
        except UserError as error:
            raise CommandError(error.message) from error
        self._say(
            f"Demo ready in {loaded.seconds:.1f} s, {loaded.rows:,} cost lines imported, "
            f"{loaded.events:,} usage events added."
        )
        self._say(f"Written to {handout.path()}, readable by you only:")
        for field, value in loaded.handout.items():
            self._say(f"  {field:<20}{value}")
        colleagues = ", ".join(f"{email} ({role.label.lower()})" for email, (_, role) in COLLEAGUES.items())
        self._say(f"The same password opens {colleagues}.")

    def _say(self, text: str) -> None:
        if self.quiet:
            return
        self.stdout.write(text)
        self.stdout.flush()

"""Loads the demo: people, accounts, cost, usage, keys. Safe to run twice, and on any later day."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from django.db.models import Max

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import Basis, ClosedMonth, CostSource, CostView
from finops.costs.services import change_cost_view, change_settle_days, create_cost_source, import_files
from finops.costs.services.closed_months import close_month
from finops.demo import handout
from finops.demo.activity import ensure_activity
from finops.demo.alerts import ensure_alerts, send_alerts
from finops.demo.allocation import ensure_cost_tags, ensure_splits, ensure_teams
from finops.demo.budgets import ensure_budgets
from finops.demo.change_events import ensure_change_events
from finops.demo.company import LABS, SOURCES, Source
from finops.demo.dashboards import ensure_dashboard
from finops.demo.datasets import write_contracts, write_invoices
from finops.demo.deliveries import (
    complete_sync,
    connect_vendor,
    connection_of,
    ensure_failing_connection,
    write_bills,
)
from finops.demo.generate import MONTHS, first_day, months_between, write_source
from finops.demo.insights import detect_anomalies, ensure_savings
from finops.demo.layouts import LAYOUTS
from finops.demo.people import People, ensure_people, remove_people
from finops.demo.replays import ensure_replays
from finops.demo.stripe import SOURCE_NAME as STRIPE_NAME
from finops.demo.stripe import ensure_stripe
from finops.demo.unit_costs import ensure_customer_key, ensure_unit_metrics
from finops.demo.usage import SOURCE_NAME, load_usage
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_end, month_start

SAMPLE_NAME = "FOCUS sample (real, anonymised)"
SAMPLE_FILE = Path(__file__).parent / "data" / "focus_sample.csv.gz"
LABS_MONTHS = 3
PRODUCT_KEY = "tag:service"
CLOSING_NOTE = "Reported to the board."
LATE_SOURCE, LATE_CHARGE = "anthropic", "Claude Team plan, seats"
"""Charges that the first delivery of the closed month does not have: the import after the closing has them."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class LoadResult:
    """The result of a run: cost lines and usage events added, seconds it took, and the visitor's data."""

    rows: int
    events: int
    seconds: float
    handout: dict[str, str]


def load(say: Say, *, reset: bool = False, if_empty: bool = False, months: int = MONTHS) -> LoadResult:
    """Bring the demo up to yesterday. `reset` starts from nothing; `if_empty` keeps existing cost and usage.

    A second run of a day imports nothing and keeps password and keys; on a later day it adds only the months of cost and the
    days of usage since then. Raises UserError while another process loads it.
    """
    started_at = time.monotonic()
    actor = Actor.command("load_demo")
    with advisory_lock("demo data") as is_first:
        if not is_first:
            raise UserError("Demo data is being loaded by another process; wait until it has ended.")
        if reset:
            say("Removing the demo's accounts and people")
            remove_people()
        people = ensure_people(actor, handout.stored_handout().get("password"))
        # Before the long part: a process that continues an interrupted load still has the password.
        handed_out = handout.write(people, actor)
        with account_scope(people.account):
            skip_cost, skip_usage = (if_empty and _has(kind) for kind in (Kind.COST, Kind.USAGE))
        rows = 0 if skip_cost else _load_costs(people, actor, say, months)
        events = 0 if skip_usage else _load_usage(people.account, actor, say, months)
        with account_scope(people.account):
            ensure_customer_key(people.account, actor)
            ensure_teams(people.account, actor)
            ensure_cost_tags(people.account, actor)
            ensure_unit_metrics(people.account, actor)
            ensure_budgets(people.account, actor)
            ensure_splits(people.account, actor)
            ensure_savings(people.account, actor)
            ensure_dashboard(people.account, actor)
            ensure_alerts(people.account, actor)
            ensure_activity(people.account)
            today = clock.today()
            yesterday = today - timedelta(days=1)
            ensure_change_events(people.account, actor, first_day(today, months), yesterday)
            ensure_replays(people.account, actor, first_day(today, months), yesterday)
        _load_stripe(people.labs, actor, say, months)
        detect_anomalies([people.account, people.labs], actor, say)
        send_alerts(people.account)
    return LoadResult(rows, events, time.monotonic() - started_at, handed_out)


def _has(kind: Kind) -> bool:
    """Whether the account in scope has segments of that kind."""
    return LakeSegment.objects.filter(kind=kind, retired_at=None).exists()


def _load_costs(people: People, actor: Actor, say: Say, months: int) -> int:
    today = clock.today()
    with tempfile.TemporaryDirectory(prefix="finops-demo-") as folder:
        loader = _Loader(Path(folder), actor, say, today - timedelta(days=1))
        with account_scope(people.account):
            _ensure_cost_view(people.account, actor)
            first = first_day(today, months)
            month = add_months(month_start(today), -2)
            # A first load alone, which ends with the sample, closes a month: what people reopen stays open.
            closes = not loader.has_sample(people.account) and month >= first
            for vendor in SOURCES.values():
                late = {month: LATE_CHARGE} if closes and vendor.key == LATE_SOURCE else None
                loader.bring_up_to_date(people.account, vendor, first, late=late)
            if closes:
                if not ClosedMonth.objects.filter(month=month).exists():
                    close_month(account=people.account, actor=actor, month=month, note=CLOSING_NOTE)
                loader.restate(people.account, SOURCES[LATE_SOURCE], month)
            loader.load_sample(people.account)
            ensure_failing_connection(people.account, actor)
        with account_scope(people.labs):
            loader.bring_up_to_date(people.labs, LABS, first_day(today, min(months, LABS_MONTHS)))
    return loader.rows


def _load_usage(account: Account, actor: Actor, say: Say, months: int) -> int:
    today, started_at = clock.today(), time.monotonic()
    with account_scope(account):
        events = load_usage(account, actor, first_day(today, months), today - timedelta(days=1))
    say(
        f"{account.name}: {SOURCE_NAME}, {events:,} usage events (written in {time.monotonic() - started_at:.1f} s)"
    )
    return events


def _load_stripe(labs: Account, actor: Actor, say: Say, months: int) -> None:
    """A replay of Stripe into Lumenly Labs: usage that is pulled, beside what Lumenly's backend pushes."""
    today, started_at = clock.today(), time.monotonic()
    with account_scope(labs):
        events = ensure_stripe(labs, actor, first_day(today, min(months, LABS_MONTHS)), today)
    say(
        f"{labs.name}: {STRIPE_NAME}, {events:,} usage events (pulled in {time.monotonic() - started_at:.1f} s)"
    )


def _ensure_cost_view(account: Account, actor: Actor) -> None:
    if not CostView.objects.exists():
        change_cost_view(
            account=account, actor=actor, basis=Basis.BILLED, charge_categories=(), product_key=PRODUCT_KEY
        )


class _Loader:
    """Generates and imports data into the account in scope, and prints how long each step took."""

    def __init__(self, folder: Path, actor: Actor, say: Say, end: date) -> None:
        self.folder, self.actor, self.say, self.end = folder, actor, say, end
        self.rows = 0

    def bring_up_to_date(
        self, account: Account, vendor: Source, first: date, *, late: Mapping[date, str] | None = None
    ) -> None:
        """Import a vendor's lines from its last loaded month on, or from the first day when there are none."""
        stored_source = CostSource.objects.filter(name=vendor.name).first()
        last = _last_day(stored_source) if stored_source else None
        if last is not None and last >= self.end:
            self.say(f"{account.name}: {vendor.name} is complete up to {last}")
            return
        started_at = time.monotonic()
        path = self.folder / f"{vendor.key}-through-{self.end}.parquet"
        start = month_start(last) if last else first
        output = write_source(vendor.key, path, start, self.end, late=late)
        generated = time.monotonic()
        contracts = self.folder / f"{vendor.key}-commitments.csv"
        invoices = self.folder / f"{vendor.key}-invoices.csv"
        source, paths = self._deliver(account, vendor, path, start)
        if write_contracts(vendor.key, contracts, first, self.end):
            paths.append(contracts)
        if write_invoices(vendor, invoices, output.billed, self.end):
            paths.append(invoices)
        if paths:
            self._import(account, source, paths)
        self.say(
            f"{account.name}: {vendor.name}, {output.rows:,} lines up to {self.end} "
            f"(generated in {generated - started_at:.1f} s, imported in {time.monotonic() - generated:.1f} s)"
        )
        path.unlink()

    def _deliver(
        self, account: Account, vendor: Source, path: Path, start: date
    ) -> tuple[CostSource, list[Path]]:
        """Return the vendor's source, and the files still to import: none where a sync reads the bill. The upload source of a
        demo from an earlier version remains one."""
        connection = connection_of(vendor.name)
        source = connection.cost_source if connection else CostSource.objects.filter(name=vendor.name).first()
        if vendor.key not in LAYOUTS or (source is not None and connection is None):
            return self._source(account, vendor.name), [path]
        write_bills(vendor.key, path, list(months_between(start, self.end)))
        if connection is None:
            connection = connect_vendor(account, self.actor, vendor.name, vendor.key)
            change_settle_days(source=connection.cost_source, settle_days=1, actor=self.actor)
        sync = complete_sync(connection, self.actor)
        if sync.error:
            raise UserError(f"{vendor.name}: {sync.error}")
        self.rows += sync.rows
        return connection.cost_source, []

    def restate(self, account: Account, vendor: Source, month: date) -> None:
        """Import a vendor's whole billing month again, now with the late charges."""
        path = self.folder / f"{vendor.key}-{month:%Y-%m}.parquet"
        write_source(vendor.key, path, month, month_end(month))
        self._import(account, self._source(account, vendor.name), [path])
        path.unlink()

    def has_sample(self, account: Account) -> bool:
        return _last_day(self._source(account, SAMPLE_NAME)) is not None

    def load_sample(self, account: Account) -> None:
        """Import the FOCUS project's sample file, once."""
        if self.has_sample(account):
            return
        source = self._source(account, SAMPLE_NAME)
        started_at = time.monotonic()
        self._import(account, source, [SAMPLE_FILE])
        self.say(
            f"{account.name}: {SAMPLE_NAME}, September 2024 (imported in {time.monotonic() - started_at:.1f} s)"
        )

    def _source(self, account: Account, name: str) -> CostSource:
        source = CostSource.objects.filter(name=name).first()
        if source is None:
            source = create_cost_source(account=account, actor=self.actor, name=name)
            # The made-up bills have all of a day on the next one, unlike those of the providers they are named after.
            change_settle_days(source=source, settle_days=1, actor=self.actor)
        return source

    def _import(self, account: Account, source: CostSource, paths: list[Path]) -> None:
        done = import_files(account=account, source=source, paths=paths, actor=self.actor)
        self.rows += done.rows


def _last_day(source: CostSource) -> date | None:
    """The last charge day that the source has in the lake."""
    live = LakeSegment.objects.filter(kind=Kind.COST, source_id=source.pk, retired_at=None)
    last_day: date | None = live.aggregate(last=Max("last_day"))["last"]
    return last_day

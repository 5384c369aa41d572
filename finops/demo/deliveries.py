"""Delivery of the made-up company's bills: its cloud providers write them into a folder of this server, and syncs read them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from accounts.audit import Actor
from accounts.models import Account
from finops.connections.models import UNFINISHED_STATUSES, CostConnection, CostSync
from finops.connections.services import create_connection, queue_sync, run_sync
from finops.connections.transports.local import sample_folder
from finops.demo.layouts import LAYOUTS, write_month
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_start

WAIT_SECONDS: Final = 600
"""Seconds to wait for a worker that has claimed a sync before this process did."""

FAILING_SOURCE: Final = "Oracle Cloud"
DAILY: Final = 24 * 60
"""Minutes between syncs: its report never improves."""
_REPORT: Final = """\
BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ProviderName,ServiceName,ChargeCategory,\
BillingCurrency,BilledCost,EffectiveCost
{month}T00:00:00Z,{end}T00:00:00Z,{month}T00:00:00Z,{next_day}T00:00:00Z,Oracle,Compute,Usage,USD,12.40,12.40
{month}T00:00:00Z,{end}T00:00:00Z,{month}T00:00:00Z,{next_day}T00:00:00Z,Oracle,Block Storage,Usage,USD,pending,pending
"""
"""A report that ends before its amounts were computed."""


def folder_of(vendor: str) -> Path:
    return sample_folder() / "lumenly" / vendor


def write_bills(vendor: str, path: Path, months: Sequence[date]) -> None:
    """Write a generated file, which has a row group a month, in the provider's layout."""
    with pq.ParquetFile(path) as file:
        for index, month in enumerate(months):
            write_month(folder_of(vendor), vendor, month, file.read_row_group(index))


def connection_of(name: str) -> CostConnection | None:
    """The connection of the source with this name in the account in scope, if any."""
    return CostConnection.objects.select_related("account", "source").filter(source__name=name).first()


def connect_vendor(account: Account, actor: Actor, name: str, vendor: str) -> CostConnection:
    """Create a source for the vendor's folder; its first sync is queued."""
    values = {"folder": str(folder_of(vendor)), "pattern": LAYOUTS[vendor].pattern}
    return create_connection(account=account, actor=actor, name=name, connector="folder", values=values)


def complete_sync(connection: CostConnection, actor: Actor) -> CostSync:
    """Return the queued sync, or else a new one, once it has ended: here, or by a worker that claimed it. Raises UserError for
    one that takes too long."""
    sync = CostSync.objects.filter(connection=connection, status__in=UNFINISHED_STATUSES).first()
    sync = sync or queue_sync(connection=connection, actor=actor)
    deadline = time.monotonic() + WAIT_SECONDS
    while sync.status in UNFINISHED_STATUSES:
        if not run_sync(sync.pk):
            time.sleep(0.2)
        if time.monotonic() > deadline:
            raise UserError(f"The sync of {connection.target.name} has not ended in {WAIT_SECONDS} seconds.")
        sync.refresh_from_db()
    return sync


def ensure_failing_connection(account: Account, actor: Actor) -> None:
    """Create a source whose first report cannot be imported, for a reason that its page shows."""
    if connection_of(FAILING_SOURCE) is not None:
        return
    month = month_start(clock.today())
    path = folder_of("oracle") / "FOCUS Reports" / f"{month:%Y}" / f"{month:%m}" / "0001.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    next_day = month.replace(day=2)
    path.write_text(_REPORT.format(month=month, end=add_months(month, 1), next_day=next_day))
    connection = create_connection(
        account=account,
        actor=actor,
        name=FAILING_SOURCE,
        connector="folder",
        values={
            "folder": str(folder_of("oracle")),
            "pattern": "FOCUS Reports/{year}/{month}/*.csv",
            "provider": "Oracle",
        },
        interval_minutes=DAILY,
    )
    complete_sync(connection, actor)

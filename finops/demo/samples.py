"""*Try with sample data*: three months of the made-up company's AWS bill in a folder of this server, and its connection."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final

from accounts.audit import Actor
from accounts.models import Account
from finops.connections.models import CostConnection
from finops.connections.services import create_connection
from finops.connections.transports.local import sample_folder
from finops.demo.generate import month_rows
from finops.demo.layouts import LAYOUTS, write_month
from finops.lib import clock
from finops.lib.periods import add_months, month_start

NAME: Final = "Sample data"
VENDOR: Final = "aws"
MONTHS: Final = 3


def create_sample_connection(*, account: Account, actor: Actor) -> CostConnection:
    """Create a connection to the sample bill and queue its first sync. All accounts read the same files, up to yesterday.

    Raises ValidationError where the account has a source of this name. Cost: some two seconds, for 70,000 lines.
    """
    folder = sample_folder() / "sample"
    write_sample_bill(folder)
    values = {"folder": str(folder), "pattern": LAYOUTS[VENDOR].pattern}
    return create_connection(account=account, actor=actor, name=NAME, connector="folder", values=values)


def write_sample_bill(folder: Path) -> None:
    yesterday = clock.today() - timedelta(days=1)
    for back in range(MONTHS):
        month = add_months(month_start(yesterday), -back)
        write_month(folder, VENDOR, month, month_rows(VENDOR, month, yesterday))

"""Months of vendors that list none: this month and twelve before it, of which a sync compares the newest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Final

from finops.connections.connector import BillMonth
from finops.lib import clock
from finops.lib.periods import add_months, month_start

BACK_MONTHS: Final = 12
OPEN_MONTHS: Final = 1
"""Months before this one that a sync compares; older ones are read once."""
SETTLED: Final = "settled"
"""Fingerprint of a month that is read once."""


def first_open_month(open_months: int = OPEN_MONTHS) -> date:
    return add_months(month_start(clock.today()), -open_months)


def recent_months(
    fingerprint_of: Callable[[date], str], *, open_months: int = OPEN_MONTHS, settled: str = SETTLED
) -> list[BillMonth]:
    """Return the months, the newest first. Calls `fingerprint_of` for this month and the `open_months` before it."""
    this_month = month_start(clock.today())
    months = [add_months(this_month, -back) for back in range(BACK_MONTHS + 1)]
    return [
        BillMonth(month, fingerprint_of(month) if back <= open_months else settled)
        for back, month in enumerate(months)
    ]

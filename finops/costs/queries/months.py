"""The month that pages show first."""

from __future__ import annotations

from datetime import date
from typing import Any

from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.periods import month_end, month_start


def month_so_far(newest: date, **fields: Any) -> SpendQuery:
    """A question about this month so far; about the month of the newest data when this one has none."""
    if newest >= month_start(clock.today()):
        return SpendQuery(period="month_to_date", **fields)
    return SpendQuery(start_date=month_start(newest), end_date=month_end(newest), **fields)

"""What the URL of a board says: days and filters for all its widgets."""

from __future__ import annotations

from datetime import date

from finops.costs.spend_query import Filter, Period
from finops.lib.url_query import UrlQuery


class BoardQuery(UrlQuery, frozen=True, kw_only=True):
    """Without days, each widget has its own."""

    filters: list[Filter] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Period | None = None

    @property
    def has_days(self) -> bool:
        return bool(self.period or self.start_date or self.end_date)

"""What the URL of a board says: days and filters for all its widgets."""

from __future__ import annotations

from datetime import date

from finops.costs.spend_query import Filter, Period, UrlQuery


class BoardQuery(UrlQuery, frozen=True, kw_only=True):
    """Without days, each widget has its own."""

    start_date: date | None = None
    end_date: date | None = None
    period: Period | None = None
    filters: list[Filter] = []

    @property
    def has_days(self) -> bool:
        return bool(self.period or self.start_date or self.end_date)

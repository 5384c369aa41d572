"""When a report is due. Pure."""

from __future__ import annotations

from datetime import date

from finops.lib.periods import add_months


def newest_month_due(day: int, today: date) -> date:
    """The first day of the newest month whose report may go out: the one before today's, from `day` on; else the one before
    that."""
    return add_months(today, -1 if today.day >= day else -2)


def next_date(day: int, sent_month: date | None, today: date) -> date:
    """When the next report goes out: today where one is due."""
    due = newest_month_due(day, today)
    if sent_month is None or sent_month < due:
        return today
    return add_months(sent_month, 2).replace(day=day)

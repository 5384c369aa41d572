"""The demo's closed month: the second before this one, closed before Anthropic's seats were billed for it."""

from __future__ import annotations

from datetime import date

from accounts.audit import Actor
from accounts.models import Account
from finops.costs.models import ClosedMonth
from finops.costs.services.closed_months import close_month
from finops.lib.periods import add_months, month_start

LATE_SOURCE, LATE_CHARGE = "anthropic", "Claude Team plan, seats"


def month_to_close(today: date, first: date) -> date | None:
    """None: the demo's days, from `first` on, do not hold that month."""
    month = add_months(month_start(today), -2)
    return month if month >= first else None


def late_charges(source: str, month: date | None) -> dict[date, str]:
    """What a source's first delivery lacks: a charge's description, by billing month."""
    return {month: LATE_CHARGE} if month and source == LATE_SOURCE else {}


def close(account: Account, actor: Actor, month: date) -> None:
    """The account must be in scope, with the month's lines but the late charge. Does nothing to a closed month."""
    if not ClosedMonth.objects.filter(month=month).exists():
        close_month(account=account, actor=actor, month=month, note="Reported to the board.")

"""How long raw usage is kept."""

from __future__ import annotations

from datetime import date

from accounts.models import Account
from finops.lake.usage.usage_removal import drop_usage_before
from finops.lib import clock
from ingestion.models import UsageRetention


def drop_old_usage(*, account: Account) -> int:
    """Take usage older than the account keeps out of all answers; how many events in segments that were.

    It goes by whole months: with 3 months to keep, on any day of May what was before February goes.
    """
    # Unscoped: a task names the account itself.
    months = (
        UsageRetention.objects.unscoped().filter(account=account).values_list("months", flat=True).first()
    )
    if months is None:
        return 0
    return drop_usage_before(account=account, month=retention_start(clock.today(), months))


def retention_start(today: date, months: int) -> date:
    """The first day of the month that lies so many whole months before the running one."""
    place = today.year * 12 + today.month - 1 - months
    return date(place // 12, place % 12 + 1, 1)

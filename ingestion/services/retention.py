"""Retention of raw usage, and deletion of older usage."""

from __future__ import annotations

from datetime import date
from typing import Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.limits import check_ceiling, limit_of
from accounts.models import Account
from accounts.scoping import account_scope
from finops.lake.usage.usage_removal import drop_usage_before
from finops.lib import clock
from ingestion.models import UsageRetention

MONTHS_LIMIT: Final = "USAGE_MONTHS"


@transaction.atomic
def set_usage_retention(*, account: Account, actor: Actor, months: int | None) -> UsageRetention:
    """Keep the events of that many full months before the current one; None keeps them for as long as the account may.

    The nightly task deletes older events, by their own months. The meter stays. Raises ValidationError outside 1 to
    240 months, UserError above the ceiling that an operator set for the account.
    """
    if months is not None and limit_of(account, MONTHS_LIMIT):
        check_ceiling(account, MONTHS_LIMIT, months, field="months")
    with account_scope(account):
        UsageRetention.objects.get_or_create(
            account=account
        )  # the second of two concurrent first calls gets the first one's row
        row = UsageRetention.objects.select_for_update().get()
        before, row.months = row.months, months
        row.full_clean()
        row.save()
    audit.record(
        account=account,
        actor=actor,
        action="usage_retention.change",
        target="Usage retention",
        detail={"from": {"months": before}, "to": {"months": months}},
    )
    return row


def drop_old_usage(*, account: Account) -> int:
    """Delete usage beyond the account's retention from all answers; returns the number of events in deleted segments.

    Retention counts full months: with 3 months, on any day of May everything before February is deleted.
    """
    # Unscoped: a task names the account itself.
    months = kept_months(
        account,
        UsageRetention.objects.unscoped().filter(account=account).values_list("months", flat=True).first(),
    )
    if months is None:
        return 0
    return drop_usage_before(account=account, month=retention_start(clock.today(), months))


def kept_months(account: Account, months: int | None) -> int | None:
    """Return the months of usage that an account keeps which chose so many, None for forever: no more than its ceiling."""
    ceiling = limit_of(account, MONTHS_LIMIT)
    return min(months or ceiling, ceiling) if ceiling else months


def retention_start(today: date, months: int) -> date:
    """Return the first day of the month that many full months before the current one."""
    place = today.year * 12 + today.month - 1 - months
    return date(place // 12, place % 12 + 1, 1)

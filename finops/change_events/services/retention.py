"""How long an account keeps its change events, and the deletion of older events."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Min

from accounts import audit
from accounts.audit import Actor
from accounts.limits import LIMITS_BY_NAME, check_ceiling, limit_of, own_limits
from accounts.models import Account
from accounts.scoping import account_scope, current_account
from finops.change_events.models import DAYS_LIMIT, DEFAULT_DAYS, MOST_DAYS, ChangeEvent, ChangeEventRetention
from finops.lib import clock

SWEPT_AT_ONCE: Final = 5_000


@transaction.atomic
def set_change_event_retention(*, account: Account, actor: Actor, days: int) -> ChangeEventRetention:
    """Keep change events, including notes, for this number of days before the current day. Older events are deleted
    within a day and cannot be restored; metered events stay metered. Raises ValidationError outside 400 to 3,650
    days, UserError above the ceiling that an operator set for the account."""
    if days <= MOST_DAYS:
        check_ceiling(account, DAYS_LIMIT, days, field="days")
    with account_scope(account):
        row = ChangeEventRetention.objects.select_for_update().first() or ChangeEventRetention(
            account=account
        )
        before, row.days = row.days, days
        row.full_clean()
        row.save()
    audit.record(
        account=account,
        actor=actor,
        action="change_event_retention.change",
        target="Change events",
        detail={"from": {"days": before}, "to": {"days": days}},
    )
    return row


def retention_days() -> int:
    """Return the number of days that the account in scope keeps events."""
    row = ChangeEventRetention.objects.first()
    return min(row.days if row else DEFAULT_DAYS, limit_of(current_account(), DAYS_LIMIT))


def sweep() -> int:
    """Delete events that are older than their account keeps, a few thousand per statement, and return the number of
    events."""
    # Unscoped: the task serves every account.
    days_by_account = dict(ChangeEventRetention.objects.unscoped().values_list("account_id", "days"))
    ceilings, ceiling = own_limits(DAYS_LIMIT), LIMITS_BY_NAME[DAYS_LIMIT].default

    def days_of(account_id: int) -> int:
        return min(days_by_account.get(account_id, DEFAULT_DAYS), ceilings.get(account_id, ceiling))

    oldest = ChangeEvent.objects.unscoped().order_by().values_list("account_id").annotate(Min("occurred_at"))
    return sum(
        _delete_before(account_id, first)
        for account_id, moment in oldest
        if moment < (first := _first_moment(days_of(account_id)))
    )


def _first_moment(days: int) -> datetime:
    """Return the first moment whose events are kept."""
    return datetime.combine(clock.today() - timedelta(days=days), time.min, UTC)


def _delete_before(account_id: int, first: datetime) -> int:
    deleted = 0
    while True:
        rows = ChangeEvent.objects.unscoped().filter(account_id=account_id, occurred_at__lt=first)
        ids = list(rows.order_by("occurred_at").values_list("pk", flat=True)[:SWEPT_AT_ONCE])
        deleted += ChangeEvent.objects.unscoped().filter(pk__in=ids).delete()[0]
        if len(ids) < SWEPT_AT_ONCE:
            return deleted

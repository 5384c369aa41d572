"""The retention of assistant activity, and the deletion of older calls."""

from __future__ import annotations

from datetime import date, timedelta

from django.db import connection, transaction
from django.db.models import Min

from accounts import audit
from accounts.audit import Actor
from accounts.limits import LIMITS_BY_NAME, check_ceiling, own_limits
from accounts.models import Account
from accounts.scoping import account_scope
from finops.activity.models import DAYS_LIMIT, DEFAULT_DAYS, ActivityRetention, AssistantCallCount
from finops.lib import clock

SWEPT_AT_ONCE = 5_000


@transaction.atomic
def set_activity_retention(*, account: Account, actor: Actor, days: int) -> ActivityRetention:
    """Set how many days of calls before the current one are kept; older ones are permanently deleted within the hour.

    Raises ValidationError outside 7 to 1,100 days, UserError above the ceiling that an operator set for the account, 400 by
    default.
    """
    check_ceiling(account, DAYS_LIMIT, days, field="days")
    with account_scope(account):
        row = ActivityRetention.objects.select_for_update().first() or ActivityRetention(account=account)
        before, row.days = row.days, days
        row.full_clean()
        row.save()
    audit.record(
        account=account,
        actor=actor,
        action="activity_retention.change",
        target="Assistant activity",
        detail={"from": {"days": before}, "to": {"days": days}},
    )
    return row


def first_retained_day(days: int) -> date:
    """Return the oldest day (UTC) of which calls are kept."""
    return clock.today() - timedelta(days=days)


def sweep() -> int:
    """Delete calls older than their account's retention, and return how many.

    Cost: one query of the counts by day, whatever the number of calls, then the deleted calls, a few thousand a statement,
    by the index that pages use.
    """
    # Of every account: beat asks for all at once.
    days_by_account = dict(ActivityRetention.objects.unscoped().values_list("account_id", "days"))
    ceilings, ceiling = own_limits(DAYS_LIMIT), LIMITS_BY_NAME[DAYS_LIMIT].default
    counts = AssistantCallCount.objects.unscoped().order_by()
    oldest = counts.values_list("account_id").annotate(oldest=Min("day"))
    deleted_calls = 0
    for account_id, day in oldest:
        days = days_by_account.get(account_id, DEFAULT_DAYS)
        first = first_retained_day(min(days, ceilings.get(account_id, ceiling)))
        if day < first:
            deleted_calls += _delete_calls(account_id, first)
            counts.filter(account_id=account_id, day__lt=first).delete()
    return deleted_calls


_DELETE = """
DELETE FROM activity_assistantcall WHERE id = ANY (ARRAY(
  SELECT id FROM activity_assistantcall
   WHERE account_id = %s AND at < (%s::date)::timestamp AT TIME ZONE 'UTC'
   ORDER BY account_id, at, id LIMIT %s))
"""


def _delete_calls(account_id: int, first: date) -> int:
    total, last = 0, SWEPT_AT_ONCE
    with connection.cursor() as cursor:
        while last == SWEPT_AT_ONCE:
            cursor.execute(_DELETE, [account_id, first, SWEPT_AT_ONCE])
            last = cursor.rowcount
            total += last
    return total

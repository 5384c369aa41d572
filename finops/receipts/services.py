"""How long an account keeps receipts and the bills that they name, and the deletion of older ones."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts import audit
from accounts.audit import Actor
from accounts.limits import LIMITS_BY_NAME, check_ceiling, own_limits
from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.errors import UserError
from finops.receipts.models import (
    BILL_DAYS_LIMIT,
    DAYS_LIMIT,
    DEFAULT_DAYS,
    AnswerReceipt,
    AnswerState,
    ReceiptRetention,
)

UNUSED_STATE_PERIOD: Final = timedelta(days=1)
"""How long a state without receipts is kept: receipts that name it may not be stored yet."""


@transaction.atomic
def set_receipt_retention(*, account: Account, actor: Actor, days: int, bill_days: int) -> ReceiptRetention:
    """Keep receipts for `days`, and the replaced bills that they name for `bill_days`; 0: as long as other replaced
    bills. Older ones are deleted within a day, for good. Raises ValidationError for a value out of bounds, UserError
    for bills kept longer than their receipts, and above the ceilings that an operator set for the account."""
    check_ceiling(account, DAYS_LIMIT, days, field="days")
    check_ceiling(account, BILL_DAYS_LIMIT, bill_days, field="bill_days")
    if bill_days > days:
        raise UserError(
            f"bill_days: {bill_days} is more than the {days} days of receipts. Keep receipts as long as bills.",
            field="bill_days",
        )
    with account_scope(account):
        row = ReceiptRetention.objects.select_for_update().first() or ReceiptRetention(account=account)
        before = {"days": row.days, "bill_days": row.bill_days}
        row.days, row.bill_days = days, bill_days
        row.full_clean()
        row.save()
    audit.record(
        account=account,
        actor=actor,
        action="receipt_retention.change",
        target="Receipts",
        detail={"from": before, "to": {"days": days, "bill_days": bill_days}},
    )
    return row


def sweep() -> int:
    """Delete receipts that are older than their account keeps, and states without receipts; return the number of
    receipts. One statement for each account with its own days or ceiling, and four more."""
    # Unscoped: the task serves every account.
    receipts = AnswerReceipt.objects.unscoped()
    own_days = dict(ReceiptRetention.objects.unscoped().values_list("account_id", "days"))
    ceilings, ceiling = own_limits(DAYS_LIMIT), LIMITS_BY_NAME[DAYS_LIMIT].default
    days_by_account = {
        account_id: min(own_days.get(account_id, DEFAULT_DAYS), ceilings.get(account_id, ceiling))
        for account_id in own_days | ceilings
    }
    now = clock.now()
    deleted = (
        receipts.exclude(account__in=days_by_account)
        .filter(at__lt=now - timedelta(days=DEFAULT_DAYS))
        .delete()[0]
    )
    for account_id, days in days_by_account.items():
        deleted += receipts.filter(account_id=account_id, at__lt=now - timedelta(days=days)).delete()[0]
    unused = AnswerState.objects.unscoped().filter(last_used_at__lt=now - UNUSED_STATE_PERIOD)
    unused.filter(~Exists(receipts.filter(state=OuterRef("pk")))).delete()
    return deleted

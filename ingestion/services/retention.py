"""How long an account keeps raw usage."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from ingestion.models import UsageRetention


@transaction.atomic
def set_usage_retention(*, account: Account, actor: Actor, months: int | None) -> UsageRetention:
    """Keep the events of so many whole months before the running one; None keeps them for ever.

    The nightly pass deletes what is older, by the events' own months. The meter stays. Raises ValidationError outside
    1 to 240 months.
    """
    with account_scope(account):
        UsageRetention.objects.get_or_create(
            account=account
        )  # of two first ones at once the second finds the first's
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

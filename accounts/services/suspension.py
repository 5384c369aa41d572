"""Suspension of an account by an operator: no access, no tasks, no change of its data."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from finops.lib import clock
from finops.lib.errors import UserError


@transaction.atomic
def suspend_account(*, account: Account, actor: Actor) -> None:
    """Suspend an account: pages, keys and connected apps get 403 from the next request on. Raises UserError when it
    is suspended already."""
    row = Account.objects.select_for_update().get(pk=account.pk)
    if row.suspended_at is not None:
        raise UserError("This account is already suspended.")
    row.suspended_at = account.suspended_at = clock.now()
    row.save(update_fields=["suspended_at"])
    audit.record(account=row, actor=actor, action="account.suspend", target=row.name)


@transaction.atomic
def resume_account(*, account: Account, actor: Actor) -> None:
    """End the suspension for everybody and every task. Raises UserError when it is not suspended."""
    row = Account.objects.select_for_update().get(pk=account.pk)
    if row.suspended_at is None:
        raise UserError("This account is not suspended.")
    row.suspended_at = account.suspended_at = None
    row.save(update_fields=["suspended_at"])
    audit.record(account=row, actor=actor, action="account.resume", target=row.name)


def suspension_message(account: Account) -> str:
    """Return the message of the 403; empty where the account is not suspended. `account` may come from a credential."""
    if account.suspended_at is None:
        return ""
    return (
        f"The account {account.name} is suspended. Nothing was stored; existing data is kept. "
        "Contact the operator of this server."
    )


def is_suspended(account_id: int) -> bool:
    """Whether the account is suspended. One query."""
    return Account.objects.filter(pk=account_id, suspended_at__isnull=False).exists()

"""Periodic tasks of the accounts."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from accounts.oauth import services
from accounts.security import services as security
from accounts.services import mails
from accounts.services.addresses import sweep_unverified_users
from accounts.services.deletion import DELETE_TASK, due_deletions
from accounts.services.deletion import delete_account as delete_account_for_good
from accounts.services.deletion_record import remove_old_records
from accounts.services.invitations import SEND_TASK, due_invitations
from accounts.services.invitations import send_invitation as send_invitation_mail
from accounts.sso import attempts as sign_in_attempts


@shared_task(name="accounts.sweep_connections")
def sweep_connections() -> None:
    """Hourly: delete ended codes, tokens, connections, clients without connection, and sign-ups not verified for a week."""
    services.sweep()
    sweep_unverified_users()


@shared_task(name="accounts.send_unsent_mails")
def send_unsent_mails() -> None:
    """Every 15 seconds: send mails that the mail server did not accept."""
    mails.send_unsent()


@shared_task(name="accounts.send_invitations_due")
def send_invitations_due() -> None:
    """Every minute: queue a task for each invitation whose mail is due."""
    for account_id, invitation_id in due_invitations():
        send_invitation.apply_async([account_id, invitation_id], expires=60)


@shared_task(name=SEND_TASK)
def send_invitation(account_id: int, invitation_id: int) -> None:
    """Send the mail of an invitation; does nothing for one that is not due or is being sent elsewhere."""
    send_invitation_mail(account=Account.objects.get(pk=account_id), invitation_id=invitation_id)


@shared_task(name="accounts.sweep_security")
def sweep_security() -> None:
    """Daily: delete expired sessions, sign-in attempts and old security events, and reseal secrets of second factors."""
    security.sweep()
    sign_in_attempts.sweep()


@shared_task(name="accounts.delete_due_accounts")
def delete_due_accounts() -> None:
    """Hourly: queue a task for each account to delete, 14 days after its owner's request; delete old deletion records."""
    remove_old_records()
    for account_id in due_deletions():
        delete_account.apply_async([account_id], expires=3_600)


@shared_task(name=DELETE_TASK)
def delete_account(account_id: int) -> None:
    """Delete an account with every row and file; does nothing for one that is not due. Continues an interrupted run."""
    delete_account_for_good(account_id=account_id)

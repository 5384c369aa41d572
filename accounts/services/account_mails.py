"""Mails about an account as a whole: an offer of its ownership, and its deletion. They go out if their transaction
commits."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.urls import reverse

from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from accounts.services.mails import automatic_mail, queue, quoted_name


def mail_ownership_offer(*, account: Account, to: User, by: User) -> None:
    text = (
        f"{quoted_name(by.label)} ({by.email}) offers you the ownership of the account {quoted_name(account.name)} in "
        "the FinOps Console.\n\n"
        f"Accept or decline:\n{_settings_url(account)}\n\n"
        f"When you accept, you become its owner and {by.email} an admin.\n"
    )
    queue(
        automatic_mail(
            to=to.email,
            subject="You are offered the ownership of an account in the FinOps Console",
            text=text,
        )
    )


def mail_deletion_scheduled(*, account: Account, actor: Actor, when: datetime) -> None:
    text = (
        f"{quoted_name(actor.label)} scheduled the deletion of the account {quoted_name(account.name)} in the FinOps "
        f"Console. It is deleted on {when:%Y-%m-%d %H:%M} UTC, with all cost, usage, keys, members and the audit log.\n\n"
        f"Until then its owner can restore it:\n{_settings_url(account)}\n"
    )
    _mail_administrators(account, "An account in the FinOps Console is scheduled for deletion", text)


def mail_deletion_cancelled(*, account: Account, actor: Actor) -> None:
    text = (
        f"{quoted_name(actor.label)} restored the account {quoted_name(account.name)} in the FinOps Console. It is not "
        f"deleted.\n\n{_settings_url(account)}\n"
    )
    _mail_administrators(account, "The deletion of an account in the FinOps Console is cancelled", text)


def mail_deletion(*, account: Account) -> None:
    """Before the memberships go."""
    text = (
        f"The account {quoted_name(account.name)} in the FinOps Console is deleted, as scheduled. Nobody can open or "
        "restore it any more; its data is removed now.\n"
    )
    _mail_administrators(account, "An account in the FinOps Console is deleted", text)


def _mail_administrators(account: Account, subject: str, text: str) -> None:
    """To the owner and all admins, who did it among them."""
    rows = Membership.objects.filter(account=account, role__in=[Role.OWNER, Role.ADMIN]).order_by("pk")
    for address in rows.values_list("user__email", flat=True):
        queue(automatic_mail(to=address, subject=subject, text=text))


def _settings_url(account: Account) -> str:
    return f"{settings.PUBLIC_URL}{reverse('account_settings', args=[account.slug])}"

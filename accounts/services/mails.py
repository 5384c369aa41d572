"""Mails to people: at once, or as soon as the mail server is available again.

A mail is sent at least once. When the process dies after sending and before recording it, the mail is sent again with the
same Message-ID, which mail programs show once.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import make_msgid
from smtplib import SMTPException
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives, get_connection
from django.urls import reverse

from accounts.audit import Actor
from accounts.models import Account, Membership, Role, UnsentMail, User
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.formats import dates
from finops.lib.formats.locales import reader_formats
from finops.lib.mail import attach_text_as_html, restore_html
from finops.lib.sealing import Unsealable, seal, unseal
from finops.lib.sentences import join_with_and

log = logging.getLogger(__name__)

FIRST_WAIT: Final = timedelta(seconds=15)
LONGEST_WAIT: Final = timedelta(minutes=5)
MAX_AGE: Final = timedelta(days=3)
"""The age after which unsent mails are dropped: the lifetime of their links."""
AT_ONCE: Final = 100
_PURPOSE: Final = "unsent mail"
_HTML: Final = "text/html"


def send_or_keep(message: EmailMessage) -> bool:
    """Send a mail; if the mail server does not accept it, store it for later and return False.

    If mails are unsent that were tried a moment ago, the next ones are stored too, so that no page waits ten seconds for
    the same failure. Cost: one query, and the mail server's time.
    """
    _set_message_id(message)
    if not UnsentMail.objects.filter(next_attempt_at__gt=clock.now()).exists():
        try:
            message.send()
        except (OSError, SMTPException) as error:
            log.warning("a mail could not be sent, and is kept: %s", error)
        else:
            return True
    _keep(message, attempts=1, next_attempt_at=clock.now() + FIRST_WAIT)
    return False


def queue(message: EmailMessage) -> None:
    """Store a mail for the worker to send within 15 seconds, if this transaction commits. Cost: one insert."""
    _set_message_id(message)
    _keep(message, attempts=0, next_attempt_at=clock.now())


def automatic_mail(*, to: str, subject: str, text: str) -> EmailMultiAlternatives:
    """Create an automatic mail, which asks for no reply. The subject holds nothing that people wrote."""
    headers = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}
    mail = EmailMultiAlternatives(subject=subject, body=text, to=[to], headers=headers)
    attach_text_as_html(mail)
    return mail


def quoted_name(name: str) -> str:
    """Quote a name that people chose, for a mail's text."""
    return f"“{' '.join(name.split())}”"


def send_unsent() -> int:
    """Retry mails that are due; return how many were sent. Drops those older than three days: their links have expired."""
    UnsentMail.objects.filter(created_at__lt=clock.now() - MAX_AGE).delete()
    sent_count = 0
    with advisory_lock("unsent mails") as has_lock:
        for row in UnsentMail.objects.filter(next_attempt_at__lte=clock.now())[:AT_ONCE] if has_lock else ():
            outcome = _try(row)
            if outcome is None:
                break
            sent_count += outcome
    return sent_count


def _set_message_id(message: EmailMessage) -> None:
    message.extra_headers.setdefault("Message-ID", make_msgid(domain="finops.invalid"))


def _keep(message: EmailMessage, *, attempts: int, next_attempt_at: datetime) -> None:
    sealed = seal(_fields(message), purpose=_PURPOSE)
    UnsentMail.objects.create(sealed=sealed, attempts=attempts, next_attempt_at=next_attempt_at)


def _try(row: UnsentMail) -> bool | None:
    """Try to send; return whether it was sent, None when the server accepts no mail at all."""
    try:
        message = _message(unseal(row.sealed, purpose=_PURPOSE))
    except Unsealable:
        log.warning("a mail of %s was dropped: the secret key that sealed it is gone", row.created_at)
        row.delete()
        return False
    try:
        with get_connection() as server:
            message.connection = server
            message.send()
    except (OSError, SMTPException) as error:
        # SMTPException is an OSError too: a refused address says nothing about the others.
        wait = min(FIRST_WAIT * 2 ** min(row.attempts, 10), LONGEST_WAIT)
        row.attempts += 1
        row.next_attempt_at = clock.now() + wait * random.uniform(0.5, 1)  # noqa: S311 - spreads, hides nothing
        row.save(update_fields=["attempts", "next_attempt_at"])
        log.warning("a mail could not be sent for the time %s: %s", row.attempts, error)
        return False if isinstance(error, SMTPException) else None
    row.delete()
    return True


def _fields(message: EmailMessage) -> dict[str, Any]:
    bodies = getattr(message, "alternatives", [])
    return {
        "subject": str(message.subject),
        "body": str(message.body),
        "from": message.from_email,
        "to": message.to,
        "headers": {name: str(value) for name, value in message.extra_headers.items()},
        "html": next((str(content) for content, kind in bodies if kind == _HTML), ""),
    }


def _message(fields: Mapping[str, Any]) -> EmailMultiAlternatives:
    message = EmailMultiAlternatives(
        fields["subject"], fields["body"], fields["from"], fields["to"], headers=fields["headers"]
    )
    if fields["html"]:
        restore_html(message, fields["html"])
    return message


def mail_ownership_offer(*, account: Account, to: User, by: User) -> None:
    text = (
        f"{quoted_name(by.label)} ({by.email}) wants to transfer ownership of the account {quoted_name(account.name)} in "
        "the FinOps Console.\n\n"
        f"Accept or decline:\n{_settings_url(account)}\n\n"
        f"When you accept, you become its owner and {by.email} an admin.\n"
    )
    queue(
        automatic_mail(
            to=to.email,
            subject="Ownership transfer of an account in the FinOps Console",
            text=text,
        )
    )


def mail_deletion_schedule(*, account: Account, actor: Actor, when: datetime) -> None:
    def text() -> str:
        return (
            f"{quoted_name(actor.label)} scheduled the deletion of the account {quoted_name(account.name)} in the FinOps "
            f"Console. It will be deleted on {dates.exact_moment(when)}, with all cost, usage, keys, members and the audit "
            f"log.\n\nUntil then its owner can restore it:\n{_settings_url(account)}\n"
        )

    _mail_administrators(account, "An account in the FinOps Console is scheduled for deletion", text)


def mail_deletion_cancellation(*, account: Account, actor: Actor) -> None:
    text = (
        f"{quoted_name(actor.label)} restored the account {quoted_name(account.name)} in the FinOps Console. It is not "
        f"deleted.\n\n{_settings_url(account)}\n"
    )
    _mail_administrators(
        account, "The deletion of an account in the FinOps Console was canceled", lambda: text
    )


def mail_deletion(*, account: Account) -> None:
    """Mail the members; call it before the memberships are deleted."""
    text = (
        f"The account {quoted_name(account.name)} in the FinOps Console was deleted. It "
        "cannot be restored. Its data is being removed.\n"
    )
    _mail_administrators(account, "An account in the FinOps Console was deleted", lambda: text)


def mail_sign_on_change(
    *, account: Account, actor: Actor, change: str, provider: str, domains: Sequence[str]
) -> None:
    """Mail a change of an identity provider's sign-in. `change` is the text between the actor's name and the provider's."""
    text = (
        f"{quoted_name(actor.label)} {change} the identity provider {quoted_name(provider)} of the account "
        f"{quoted_name(account.name)} in the FinOps Console. It signs in people of {join_with_and(list(domains))}, you too if "
        "your address is one of them.\n\nIf you did not expect this, check it now:\n"
        f"{settings.PUBLIC_URL}{reverse('identity_providers', args=[account.slug])}\n"
    )
    subject = "Single sign-on of an account in the FinOps Console has changed"
    _mail_administrators(account, subject, lambda: text)


def _mail_administrators(account: Account, subject: str, text: Callable[[], str]) -> None:
    """Mail the owner and all admins, including the actor; each mail in its reader's formats."""
    rows = Membership.objects.filter(account=account, role__in=[Role.OWNER, Role.ADMIN]).order_by("pk")
    for address, locale, time_zone in rows.values_list("user__email", "user__locale", "user__time_zone"):
        with reader_formats(locale, time_zone):
            queue(automatic_mail(to=address, subject=subject, text=text()))


def _settings_url(account: Account) -> str:
    return f"{settings.PUBLIC_URL}{reverse('account_settings', args=[account.slug])}"

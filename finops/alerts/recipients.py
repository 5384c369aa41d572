"""The allowed recipients of alert emails: addresses that a member of the account verified, and others that
confirmed.

Otherwise any account could send email to anyone. Any other address gets a confirmation request and no alerts; each
email has a link to confirm or unsubscribe its address.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, User
from accounts.scoping import account_scope, lock_account
from accounts.services.mails import automatic_mail, queue, quoted_name
from finops.alerts.channel_targets import EmailTarget, target_of
from finops.alerts.models import AlertChannel, AlertRecipient
from finops.cost_access.queries import limited_addresses
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.sealing import Unsealable
from finops.lib.sentences import join_with_and, quote

TESTS_AN_HOUR: Final = 10
"""The maximum of test emails to an address in an hour, over all accounts."""

CONFIRMATIONS_A_DAY: Final = 3
"""The maximum of confirmation requests to an address in a day, over all accounts; each account sends one."""

CONFIRMATIONS_A_DAY_OF_ACCOUNT: Final = 20
_SALT: Final = "alerts.recipient"


@dataclasses.dataclass(frozen=True)
class Recipients:
    """Addresses, grouped by whether they get alerts of an account."""

    allowed: tuple[str, ...]
    waiting: tuple[str, ...]
    unsubscribed: tuple[str, ...]
    limited: tuple[str, ...] = ()
    """Addresses of members with limited cost access: alerts include all cost of the account."""

    @property
    def notice(self) -> str:
        """`Nothing is mailed to 'a@example.com' until …`; empty where all are allowed."""
        sentences = [
            f"No email is sent to {_quoted_list(self.waiting)} until the address is confirmed."
            if self.waiting
            else "",
            f"No email is sent to {_quoted_list(self.unsubscribed)}: unsubscribed."
            if self.unsubscribed
            else "",
            f"No email is sent to {_quoted_list(self.limited)}: limited cost access." if self.limited else "",
        ]
        return " ".join(filter(None, sentences))


def recipients(account: Account, addresses: Sequence[str]) -> Recipients:
    """Return the addresses by group. If the installation verifies no addresses (EMAIL_VERIFICATION), the login
    addresses of members count as verified. Three queries; then four."""
    emails = EmailAddress.objects.filter(user__memberships__account=account)
    if settings.ACCOUNT_EMAIL_VERIFICATION != "none":
        emails = emails.filter(verified=True)
    verified = {email.lower() for email in emails.values_list("email", flat=True)}
    if settings.ACCOUNT_EMAIL_VERIFICATION == "none":
        logins = User.objects.filter(memberships__account=account).values_list("email", flat=True)
        verified |= {email.lower() for email in logins}
    rows = list(AlertRecipient.objects.unscoped().filter(account=account))  # their pages have no scope
    unsubscribed = {row.address for row in rows if row.unsubscribed_at}
    limited = limited_addresses(account)
    allowed = (verified | {row.address for row in rows if row.confirmed_at}) - unsubscribed - limited
    return Recipients(
        allowed=tuple(each for each in addresses if each.lower() in allowed),
        waiting=tuple(each for each in addresses if each.lower() not in allowed | unsubscribed | limited),
        unsubscribed=tuple(each for each in addresses if each.lower() in unsubscribed - limited),
        limited=tuple(each for each in addresses if each.lower() in limited),
    )


def channel_recipients(channel: AlertChannel) -> Recipients | None:
    """Return the recipients of an email channel; None for other kinds, and if its secrets cannot be opened."""
    if channel.kind != AlertChannel.Kind.EMAIL:
        return None
    try:
        target = target_of(channel)
    except Unsealable:
        return None
    return recipients(channel.account, target.addresses) if isinstance(target, EmailTarget) else None


@transaction.atomic
def request_confirmations(*, account: Account, addresses: Sequence[str]) -> None:
    """Send a confirmation request to each of `addresses`, within the daily limits. Concurrent requests may exceed the
    limit over all accounts."""
    if not addresses:
        return
    lock_account(account)
    day_ago = clock.now() - timedelta(days=1)
    with account_scope(account):
        for address in sorted({each.lower() for each in addresses}):
            row, _is_new = AlertRecipient.objects.get_or_create(account=account, address=address)
            recent = AlertRecipient.objects.unscoped().filter(requested_at__gt=day_ago)  # over all accounts
            if (
                (row.requested_at and row.requested_at > day_ago)
                or recent.filter(address=address).count() >= CONFIRMATIONS_A_DAY
                or recent.filter(account=account).count() >= CONFIRMATIONS_A_DAY_OF_ACCOUNT
            ):
                continue
            row.requested_at = clock.now()
            row.save(update_fields=["requested_at"])
            text = _confirmation(account, address)
            queue(automatic_mail(to=address, subject="Confirm alerts by email", text=text))


@transaction.atomic
def confirm_recipient(*, account: Account, address: str) -> None:
    """Confirm the address for alerts of the account, also when it unsubscribed before. Idempotent."""
    _set_subscription(account, address, is_subscribed=True)


@transaction.atomic
def unsubscribe_recipient(*, account: Account, address: str) -> None:
    """Unsubscribe the address from all alerts of the account, also when a member verified it. Idempotent."""
    _set_subscription(account, address, is_subscribed=False)


def recipient_url(account: Account, address: str) -> str:
    """Return the URL on which the address confirms or unsubscribes. Only an email to the address has it."""
    token = signing.dumps({"account": account.pk, "address": address.lower()}, salt=_SALT)
    return f"{settings.PUBLIC_URL}{reverse('alert_recipient', args=[token])}"


def recipient_of(token: str) -> tuple[Account, str] | None:
    """Return the account and address of a URL; None for an invalid token, or a deleted account."""
    try:
        payload = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    account = Account.objects.filter(pk=payload["account"]).first()
    return None if account is None else (account, payload["address"])


def count_test_mails(account: Account, addresses: Sequence[str]) -> None:
    """Raises UserError where no address is allowed, or one got ten test emails within an hour from any account."""
    status = recipients(account, addresses)
    if not status.allowed:
        raise UserError(status.notice)
    for address in status.allowed:
        if seconds_to_wait("alert test mails", address.lower(), limit=TESTS_AN_HOUR, seconds=3600):
            raise UserError(
                f"{address} received {TESTS_AN_HOUR} test emails within an hour. Try again later."
            )


def _set_subscription(account: Account, address: str, *, is_subscribed: bool) -> None:
    now = clock.now()
    with account_scope(account):
        rows = AlertRecipient.objects.select_for_update()
        row, _is_new = rows.get_or_create(account=account, address=address.lower())
        if row.confirmed_at if is_subscribed else row.unsubscribed_at:
            return
        row.confirmed_at, row.unsubscribed_at = (now, None) if is_subscribed else (None, now)
        row.save(update_fields=["confirmed_at", "unsubscribed_at"])
    verb = "confirm" if is_subscribed else "unsubscribe"
    audit.record(
        account=account, actor=Actor(label=address), action=f"alert_recipient.{verb}", target=address
    )


def _quoted_list(addresses: Sequence[str]) -> str:
    return join_with_and([quote(each) for each in addresses])


def _confirmation(account: Account, address: str) -> str:
    return (
        f"The account {quoted_name(account.name)} in the FinOps Console wants to send alerts about its cloud cost to "
        f"{address}.\n\n"
        f"Confirm or decline:\n{recipient_url(account, address)}\n\n"
        "If you do not recognize this account, ignore this email. No alerts are sent without your confirmation.\n"
    )

"""Which addresses a test may be mailed to. Whoever has an account could else mail anybody, as often as she makes accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings

from accounts.models import Account, User
from finops.lib.errors import UserError
from finops.lib.ratelimit import windows
from finops.lib.spoken import listed

AN_HOUR: Final = 10
"""Test mails to an address in an hour, over all accounts."""


def verified(account: Account, addresses: Sequence[str]) -> tuple[str, ...]:
    """Those of `addresses` that members of the account verified as theirs; where the installation verifies none
    (EMAIL_VERIFICATION), those that they sign in with."""
    rows = EmailAddress.objects.filter(user__memberships__account=account)
    if settings.ACCOUNT_EMAIL_VERIFICATION == "none":
        own = {
            email.lower()
            for email in User.objects.filter(memberships__account=account).values_list("email", flat=True)
        }
    else:
        rows, own = rows.filter(verified=True), set()
    own |= {email.lower() for email in rows.values_list("email", flat=True)}
    return tuple(address for address in addresses if address.lower() in own)


def not_tested(account: Account, addresses: Sequence[str]) -> str:
    """The sentence that says which addresses get no test; empty where all get one."""
    others = sorted({*addresses} - {*verified(account, addresses)})
    if not others:
        return ""
    return f"No test is mailed to {listed(others)}: only to addresses that a member of the account verified. Alerts go there."


def count_test_mails(account: Account, addresses: Sequence[str]) -> None:
    """Raises UserError where no address may get a test, or one had ten within an hour, of whatever accounts."""
    chosen = verified(account, addresses)
    if not chosen:
        raise UserError(not_tested(account, addresses))
    for address in chosen:
        if not windows().hit(f"alert-test-to:{address.lower()}", limit=AN_HOUR, seconds=3600).allowed:
            raise UserError(f"{address} had {AN_HOUR} test mails within an hour. Try again later.")

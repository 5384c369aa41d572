"""An account's requirements for opening its pages: the age of a session, and a second factor."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from django.http import HttpRequest

from accounts.models import Account
from accounts.security.sessions import SEEN_EVERY, SessionStore
from finops.lib import clock
from finops.lib.formats.numbers import plural
from finops.lib.registry import Registry

session_factors: Registry[Callable[[HttpRequest, Account], bool]] = Registry("second factor of sessions")
"""Functions for other second factors that an account accepts, such as a sign-in at its identity provider: called for
sessions of a person without a second factor. Each costs its queries on every page of such a person."""


class MemberFactors(Protocol):
    """A membership as access checks read it: `has_second_factor` is annotated (accounts.security.mfa)."""

    created_at: datetime
    has_second_factor: bool


def second_factor_deadline(account: Account, joined_at: datetime) -> datetime | None:
    """Return when a person who joined at that time must have a second factor; None where the account requires none."""
    if not account.second_factor_required or account.second_factor_required_at is None:
        return None
    start = max(account.second_factor_required_at, joined_at)
    return start + timedelta(days=account.second_factor_grace_days)


def missing_factor_deadline(
    account: Account, member: MemberFactors, request: HttpRequest | None = None
) -> datetime | None:
    """Return the deadline, past or future, of a member without the required second factor; None when nothing is missing.
    With the request, factors of its session count too."""
    deadline = second_factor_deadline(account, member.created_at)
    if deadline is None or member.has_second_factor:
        return None
    if request is not None and any(accepts(request, account) for accepts in session_factors.values()):
        return None
    return deadline


def session_problem(request: HttpRequest, account: Account) -> str:
    """Return, as a sentence, why the person has to sign in again for this account's pages; empty when not needed. No query."""
    session = request.session
    if not isinstance(session, SessionStore):
        return ""
    hours, minutes = account.session_max_hours, account.session_idle_minutes
    if hours is not None and clock.now() - session.signed_in_at > timedelta(hours=hours):
        return f"Sessions end {hours:,} {plural('hour', hours)} after sign-in."
    # Use is recorded once a minute: end the session a minute late rather than early.
    if minutes is not None and session.longest_idle > timedelta(minutes=minutes) + SEEN_EVERY:
        return f"Sessions end after {minutes:,} {plural('minute', minutes)} without use."
    return ""

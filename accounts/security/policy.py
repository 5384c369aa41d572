"""What an account demands of whoever opens its pages: how old a session may be, and a second factor."""

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
"""What else an account takes for a second factor, such as a sign-in at its identity provider: asked of a session whose person
has none of her own. Each entry costs its queries on every page of such a person."""


class MemberFactors(Protocol):
    """A membership as doors read it: `has_second_factor` is annotated (accounts.security.mfa)."""

    created_at: datetime
    has_second_factor: bool


def second_factor_deadline(account: Account, joined_at: datetime) -> datetime | None:
    """When who joined then must have a second factor; None where the account demands none."""
    if not account.second_factor_required or account.second_factor_required_at is None:
        return None
    begin = max(account.second_factor_required_at, joined_at)
    return begin + timedelta(days=account.second_factor_grace_days)


def missing_factor_deadline(
    account: Account, member: MemberFactors, request: HttpRequest | None = None
) -> datetime | None:
    """When a member has to have the second factor that she lacks, past or to come; None for who lacks none. With the request,
    what its session has counts too."""
    deadline = second_factor_deadline(account, member.created_at)
    if deadline is None or member.has_second_factor:
        return None
    if request is not None and any(accepts(request, account) for accepts in session_factors.values()):
        return None
    return deadline


def session_problem(request: HttpRequest, account: Account) -> str:
    """Why the person has to sign in again for this account's pages, as a sentence; empty where she need not. No query."""
    session = request.session
    if not isinstance(session, SessionStore):
        return ""
    hours, minutes = account.session_max_hours, account.session_idle_minutes
    if hours is not None and clock.now() - session.signed_in_at > timedelta(hours=hours):
        return f"Sessions end {hours:,} {plural('hour', hours)} after sign-in."
    # Use is noted once a minute: a minute late rather than early.
    if minutes is not None and session.longest_idle > timedelta(minutes=minutes) + SEEN_EVERY:
        return f"Sessions end after {minutes:,} {plural('minute', minutes)} without use."
    return ""

"""Enforced single sign-on: who may still sign in otherwise, and which sessions a provider opened.

An enforced provider is required for the addresses of its domains and for its account. The account's owner may still
sign in with a password or passkey and a second factor. A provider of an account does not bind operators; active
operators may sign in otherwise, with a second factor, where a provider of the whole service is enforced.
"""

from __future__ import annotations

from typing import Final

from allauth.account.internal.flows.login import clear_authentication_records, get_authentication_records
from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import Role, User
from accounts.security.mfa import has_second_factor
from accounts.sso.models import IdentityProvider
from accounts.sso.queries import domain_of, enforced_provider_of_email

METHOD: Final = "sso"
"""`method` of allauth's authentication records of single sign-on."""


def refusal_text(provider: IdentityProvider, email: str) -> str:
    return f"{domain_of(email)} uses single sign-on. Continue with {provider.name}."


def enforced_provider(account: str) -> Subquery:
    """Return an expression for `annotate`: the public ID of the provider that the column's account enforces, or None.
    No query."""
    rows = IdentityProvider.objects.filter(account=OuterRef(account), is_enforced=True)
    return Subquery(rows.values("public_id")[:1])


def providers_of_session(request: HttpRequest, user: User) -> set[str]:
    """Return the public IDs of the providers that signed in this session. No query."""
    records = get_authentication_records(request, user)
    return {str(row.get("provider")) for row in records if row.get("method") == METHOD}


def providers_with_factor(request: HttpRequest, user: User) -> set[str]:
    """Return those of the session's providers that stated that they required a second factor. No query."""
    records = get_authentication_records(request, user)
    return {
        str(row.get("provider"))
        for row in records
        if row.get("method") == METHOD and row.get("has_second_factor") is True
    }


def is_session_of_provider(request: HttpRequest, user: User, provider_id: object) -> bool:
    """Return whether the provider signed in this session. No query."""
    return str(provider_id) in providers_of_session(request, user)


def may_enter(request: HttpRequest, user: User, role: str, provider_id: object) -> bool:
    """Return whether a member's session may open the pages of an account that enforces the provider (None: no
    provider)."""
    if provider_id is None or is_session_of_provider(request, user, provider_id):
        return True
    records = get_authentication_records(request, user)
    return role == Role.OWNER and any(row.get("method") == "mfa" for row in records)


def refuse_other_sign_in(request: HttpRequest, user: User) -> HttpResponse | None:
    """Return a redirect to the provider for a person who must sign in through it; None for anybody else. At most two
    queries."""
    provider = enforced_provider_of_email(user.email)
    if (
        provider is None
        or is_session_of_provider(request, user, provider.public_id)
        or _is_exempt(user, provider)
    ):
        return None
    clear_authentication_records(request)
    messages.error(request, refusal_text(provider, user.email))
    return redirect(f"{reverse('sso_start')}?{urlencode({'email': user.email})}")


def _is_exempt(user: User, provider: IdentityProvider) -> bool:
    if provider.account_id is not None and user.is_staff:
        return True
    with_factor = User.objects.filter(has_second_factor("pk"), pk=user.pk)
    if provider.account_id is None:
        return user.is_superuser and with_factor.exists()
    return with_factor.filter(
        memberships__account_id=provider.account_id, memberships__role=Role.OWNER
    ).exists()

"""Hooks by which single sign-on extends other apps."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.http import HttpRequest

from accounts.models import Account, User
from accounts.security.policy import session_factors
from accounts.sso.enforcement import providers_of_session, providers_with_factor
from accounts.sso.models import IdentityProvider


def has_provider_session(request: HttpRequest, account: Account) -> bool:
    """Return whether an identity provider of the account signed in this session, which then counts as its second
    factor; if the provider's setting requires it, only if the provider stated that it required one. One query for a
    session of single sign-on, none for others."""
    user: User | AnonymousUser = request.user
    if not isinstance(user, User):
        return False
    ids = providers_of_session(request, user)
    if not ids:
        return False
    counts = Q(requires_factor_claim=False) | Q(public_id__in=providers_with_factor(request, user))
    return IdentityProvider.objects.filter(counts, account=account, public_id__in=ids).exists()


session_factors.add("identity provider", has_provider_session)

"""Connections that identity assertions open."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749 import errors

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership, OAuthConnection, Role, User
from accounts.oauth.identity_assertions import Assertion, granted_scopes, refuse, verify
from accounts.oauth.provider import READ_SCOPE, WRITE_SCOPE
from accounts.security.mfa import has_second_factor
from accounts.security.policy import missing_factor_deadline
from accounts.sso.claims import SignInRefusal
from accounts.sso.models import AssertionClient, Identity, IdentityProvider
from accounts.sso.oidc import names_two_factors
from accounts.sso.sign_in import check_active, check_person
from finops.lib import clock


def open_by_assertion(request: Request) -> tuple[OAuthConnection, list[str]]:
    """Return the connection of the person whom the request's assertion names, locked, and the scopes of its token.

    Raises errors of oauthlib that say what to do: for a client without a provider, a disabled provider, an assertion
    that fails a check, a person who never signed in through the provider, left the account or does not meet its
    sign-in requirements, a person of several accounts where the client names none, and an empty set of scopes.
    """
    client = _client(request)
    provider = client.provider
    assertion = verify(vars(request)["_params"].get("assertion"), client, request)
    user = _person(provider, assertion.subject, request)
    account = provider.account or client.account or _only_account(provider, user, request)
    membership = _membership(account, provider, user, request)
    by_provider = _has_factor_of_provider(provider, assertion)
    deadline = None if by_provider else missing_factor_deadline(account, membership)
    if deadline is not None and deadline <= clock.now():
        refuse(f"{account.name} requires two-factor sign-in. Set it up in your sign-in settings.", request)
    scopes = granted_scopes(assertion, request.scopes, _scopes(client, membership))
    if not scopes:
        raise errors.InvalidScopeError(
            description=f"The assertion, the request and the client allow no scope together. Ask for {READ_SCOPE}.",
            request=request,
        )
    return _connection(client, account, user, by_provider), scopes


def _client(request: Request) -> AssertionClient:
    client = (
        AssertionClient.objects.select_related("provider__account", "account", "application")
        .filter(application=request.client)
        .first()
    )
    if client is None:
        raise errors.UnauthorizedClientError(
            description="No identity provider has this client. An admin adds it in Settings, Single sign-on.",
            request=request,
        )
    try:
        check_active(client.provider)
    except SignInRefusal as refusal:
        refuse(refusal.message, request)
    return client


def _only_account(provider: IdentityProvider, user: User, request: Request) -> Account:
    """Return the one account of which the person is a member. Suspended accounts count too: otherwise a suspension
    would lead a client to another account."""
    accounts = list(Account.objects.filter(memberships__user=user)[:2])
    if not accounts:
        refuse("You are not a member of an account. Ask an admin for an invitation.", request)
    if len(accounts) > 1:
        refuse(
            "You are a member of several accounts, and this client is bound to none. Ask the operator of this console "
            f"for a client of {provider.name} that is bound to your account.",
            request,
        )
    return accounts[0]


def _has_factor_of_provider(provider: IdentityProvider, assertion: Assertion) -> bool:
    """Return whether the provider counts as the second factor of the account, as in a sign-in: one of the whole
    service never does."""
    if provider.account_id is None:
        return False
    return not provider.requires_factor_claim or names_two_factors(assertion.amr)


def _scopes(client: AssertionClient, membership: Membership) -> list[str]:
    may_write = client.access == OAuthConnection.Access.READ_WRITE and membership.may(Role.MEMBER)
    return [READ_SCOPE, WRITE_SCOPE] if may_write else [READ_SCOPE]


def _person(provider: IdentityProvider, subject: str, request: Request) -> User:
    identity = Identity.objects.select_related("user").filter(provider=provider, subject=subject).first()
    if identity is None:
        refuse(f"Sign in to this console through {provider.name} once, then connect again.", request)
    try:
        check_person(provider, identity.user)
    except SignInRefusal as refusal:
        refuse(refusal.message, request)
    return identity.user


def _membership(account: Account, provider: IdentityProvider, user: User, request: Request) -> Any:
    """Return the membership, locked, so that a concurrent removal of the member waits and then finds the connection."""
    membership = (
        Membership.objects.select_for_update(of=("self",))
        .annotate(has_second_factor=has_second_factor("user_id"))
        .filter(account=account, user=user)
        .first()
    )
    if membership is None:
        # A provider of the whole service signs in people of other accounts, who do not learn this one's name.
        name = "the account of this client" if provider.account_id is None else account.name
        refuse(f"You are not a member of {name}. Ask an admin for an invitation.", request)
    if account.suspended_at is not None:
        refuse("The account is suspended. Ask the operator of this console.", request)
    other_providers = IdentityProvider.objects.filter(Q(is_enforced=True), account=account).exclude(
        pk=provider.pk
    )
    if (enforced := other_providers.first()) is not None:
        refuse(f"{account.name} requires single sign-on by {enforced.name}.", request)
    return membership


def _connection(
    client: AssertionClient, account: Account, user: User, session_had_factor: bool
) -> OAuthConnection:
    """Return the connection of this person and client; create it if needed. The lock on the membership prevents a
    second one."""
    rows = OAuthConnection.objects.unscoped().select_for_update(of=("self",))  # of the given account
    row = rows.filter(account=account, user=user, application=client.application).first()
    is_new = row is None
    row = row or OAuthConnection(account=account, user=user, application=client.application)
    row.access, row.session_had_factor = client.access, session_had_factor
    row.full_clean(validate_unique=False)
    row.save()
    if is_new:
        audit.record(
            account=account,
            actor=Actor.of_user(user),
            action="connected_app.connect",
            target=client.name,
            detail={
                "id": row.pk,
                "access": row.access,
                "of": user.email,
                "client_id": client.application.client_id,
                "provider": client.provider.name,
            },
        )
    return row

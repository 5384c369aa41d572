"""Rows of single sign-on."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from accounts.sso.assertion_clients import add_assertion_client
from accounts.sso.models import EmailDomain, GroupMapping, IdentityProvider
from accounts.sso.scim.tokens import create_scim_token
from tests.cast import ACTOR


def identity_provider(account: Account) -> int:
    return IdentityProvider.objects.create(
        account=account,
        protocol="oidc",
        name=f"walk {secrets.token_hex(4)}",
        issuer="https://walk.example",
        client_id="walk",
    ).pk


def scim_token(account: Account) -> int:
    provider = IdentityProvider.objects.select_related("account").get(pk=identity_provider(account))
    return create_scim_token(provider=provider, actor=ACTOR)[0].pk


def email_domain(account: Account) -> int:
    return EmailDomain.objects.create(
        provider_id=identity_provider(account),
        domain=f"{secrets.token_hex(4)}.example",
        record=secrets.token_hex(8),
    ).pk


def group_mapping(account: Account) -> int:
    with account_scope(account):
        return GroupMapping.objects.create(account=account, group=secrets.token_hex(4), role="viewer").pk


def assertion_client(account: Account) -> int:
    provider = IdentityProvider.objects.get(pk=identity_provider(account))
    return add_assertion_client(provider=provider, actor=ACTOR, name=secrets.token_hex(4))[0].pk

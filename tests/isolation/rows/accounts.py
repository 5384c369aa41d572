"""Rows of accounts."""

from __future__ import annotations

import secrets
from datetime import timedelta

from accounts.keys import mint_mcp_key
from accounts.models import Account, Invitation, Membership, OAuthApplication
from accounts.oauth.service_accounts import create_service_account
from accounts.oauth.services import open_connection
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import ACTOR


def mcp_key(account: Account) -> object:
    key, _plaintext = mint_mcp_key(account=account, actor=ACTOR, name="walk")
    return key.pk


def membership(account: Account) -> object:
    return Membership.objects.filter(account=account).order_by("pk").values_list("pk", flat=True)[0]


def invitation(account: Account) -> int:
    with account_scope(account):
        return Invitation.objects.create(
            account=account,
            email=f"{secrets.token_hex(4)}@example.com",
            invited_by_label="walk",
            expires_at=clock.now() + timedelta(days=7),
        ).pk


def oauth_connection(account: Account) -> int:
    """Of the account's first member, who is neither the viewer nor the stranger of the walk."""
    first = Membership.objects.filter(account=account).order_by("pk").select_related("user")[0]
    application = OAuthApplication.objects.create(
        client_id=f"walk-{secrets.token_hex(4)}",
        client_type=OAuthApplication.CLIENT_PUBLIC,
        authorization_grant_type=OAuthApplication.GRANT_AUTHORIZATION_CODE,
    )
    return open_connection(
        user=first.user, account=account, application=application, access="read", redirect_uri=""
    ).pk


def service_account(account: Account) -> int:
    row, _secret = create_service_account(account=account, actor=ACTOR, name=f"walk {secrets.token_hex(4)}")
    return row.pk

"""SCIM tokens: shown once, two at a time, dead when revoked."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from accounts.sso.models import IdentityProvider, ScimToken
from finops.lib.redaction import HIDDEN, without_secrets
from tests.accounts.sso.scim.client import Scim, add_provider
from tests.cast import Cast, reauthenticated, signed_in


@pytest.fixture
def provider(cast: Cast) -> IdentityProvider:
    return add_provider(cast.account, "example.com")


@pytest.fixture
def admin(cast: Cast) -> Client:
    return reauthenticated(signed_in(cast.admin), cast.admin)


def create(client: Client, provider: IdentityProvider, living: int) -> str:
    """The token that the page shows, or nothing."""
    url = f"/a/acme/settings/sign-on/{provider.pk}/scim/create/"
    answer = client.post(url, {"living": living}, follow=True)
    match = re.search(r"fscm_\w{48}", answer.content.decode())
    return match[0] if match else ""


def status(provider: IdentityProvider, token: str) -> int:
    return int(Scim(provider, token).ask("GET", "Users").status_code)


def test_a_token_is_shown_once_and_hashed(cast: Cast, admin: Client, provider: IdentityProvider) -> None:
    token = create(admin, provider, 0)

    page = admin.get(f"/a/acme/settings/sign-on/{provider.pk}/").content.decode()
    with account_scope(cast.account):
        row = ScimToken.objects.get()
        entries = [
            f"{entry.action} {entry.target} {entry.detail}"
            for entry in AuditEntry.objects.filter(action__startswith="scim_token")
        ]
    assert status(provider, token) == 200
    assert (token in page, row.masked_token in page) == (False, True)
    assert token.encode() not in bytes(row.digest)
    assert [entry.split()[0] for entry in entries] == ["scim_token.create"]
    assert token not in str(entries)
    assert without_secrets(f"sent {token}") == f"sent {HIDDEN}"


def test_one_token_replaces_another_without_a_gap(
    cast: Cast, admin: Client, provider: IdentityProvider
) -> None:
    first = create(admin, provider, 0)
    second = create(admin, provider, 1)
    both = [status(provider, token) for token in (first, second)]
    third = create(admin, provider, 2)
    with account_scope(cast.account):
        oldest = ScimToken.objects.order_by("pk")[0]

    for _twice in range(2):
        admin.post(f"/a/acme/settings/sign-on/scim/{oldest.pk}/revoke/")

    assert (both, third) == ([200, 200], "")
    assert [status(provider, token) for token in (first, second)] == [401, 200]
    with account_scope(cast.account):
        assert AuditEntry.objects.filter(action="scim_token.revoke").count() == 1


def test_a_second_click_creates_no_second_token(
    cast: Cast, admin: Client, provider: IdentityProvider
) -> None:
    assert create(admin, provider, 0)
    assert not create(admin, provider, 0)


def test_a_token_ends_with_its_provider(cast: Cast, admin: Client, provider: IdentityProvider) -> None:
    token = create(admin, provider, 0)

    provider.delete()

    assert status(provider, token) == 401


def test_a_suspended_account_is_refused(cast: Cast, admin: Client, provider: IdentityProvider) -> None:
    token = create(admin, provider, 0)
    type(cast.account).objects.filter(pk=cast.account.pk).update(suspended_at="2026-01-01T00:00Z")

    assert status(provider, token) == 403

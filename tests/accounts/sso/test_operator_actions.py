"""An operator confirms a domain, enforces a provider and opens the way back, in the admin console."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import AuditEntry, User
from accounts.sso.models import EmailDomain, IdentityProvider
from accounts.sso.services import add_domain
from tests.accounts.sso.providers import Server, add_oidc
from tests.cast import ACTOR, Cast, reauthenticated


@pytest.fixture
def acting(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def act(acting: Client, row: IdentityProvider | EmailDomain, name: str) -> str:
    """The page that follows."""
    url = f"/admin/sso/{row._meta.model_name}/{row.pk}/actions/{name}/"
    return acting.post(url, follow=True).content.decode()


def test_a_domain_is_confirmed_and_then_its_provider_enforced(
    cast: Cast, acting: Client, oidc: Server
) -> None:
    provider = add_oidc(cast.account, oidc)
    early = act(acting, provider, "enforce")
    domain = add_domain(provider=provider, actor=ACTOR, domain="example.com")
    act(acting, domain, "confirm")
    act(acting, provider, "enforce")
    enforced = IdentityProvider.objects.get(pk=provider.pk).is_enforced
    act(acting, provider, "stop-enforcing")

    domain.refresh_from_db()
    assert "Verify a domain first." in early
    assert domain.confirmed_by == "Operator operator@example.com"
    assert (enforced, IdentityProvider.objects.get(pk=provider.pk).is_enforced) == (True, False)
    actions = AuditEntry.objects.unscoped().filter(actor_label="Operator operator@example.com")
    assert {entry.action for entry in actions} >= {
        "identity_provider.verify_domain",
        "identity_provider.enforce",
        "identity_provider.stop_enforcing",
    }


def test_a_provider_is_tested_and_deleted(cast: Cast, acting: Client, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc)
    tested = act(acting, provider, "test")
    provider.client_id = "someone-else"
    provider.save()
    refusal = act(acting, provider, "test")
    act(acting, provider, "delete")

    assert "The settings are correct." in tested
    assert "The settings are correct." not in refusal
    assert not IdentityProvider.objects.exists()

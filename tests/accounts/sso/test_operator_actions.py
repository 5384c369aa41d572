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
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def run_action(operator_client: Client, row: IdentityProvider | EmailDomain, name: str) -> str:
    """The page that follows."""
    url = f"/admin/sso/{row._meta.model_name}/{row.pk}/actions/{name}/"
    return operator_client.post(url, follow=True).content.decode()


def test_a_domain_is_confirmed_and_then_its_provider_enforced(
    cast: Cast, operator_client: Client, oidc: Server
) -> None:
    provider = add_oidc(cast.account, oidc)
    early = run_action(operator_client, provider, "enforce")
    domain = add_domain(provider=provider, actor=ACTOR, domain="example.com")
    run_action(operator_client, domain, "confirm")
    run_action(operator_client, provider, "enforce")
    enforced = IdentityProvider.objects.get(pk=provider.pk).is_enforced
    run_action(operator_client, provider, "stop-enforcing")

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


def test_a_provider_is_tested_and_deleted(cast: Cast, operator_client: Client, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc)
    tested = run_action(operator_client, provider, "test")
    provider.client_id = "someone-else"
    provider.save()
    refusal = run_action(operator_client, provider, "test")
    run_action(operator_client, provider, "delete")

    assert "The settings are correct." in tested
    assert "The settings are correct." not in refusal
    assert not IdentityProvider.objects.exists()

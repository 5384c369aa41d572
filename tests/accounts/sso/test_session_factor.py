"""An account that requires a second factor takes a sign-in at its own identity provider for one."""

from __future__ import annotations

import pytest

from accounts.models import Account
from accounts.sso.models import IdentityProvider
from finops.lib import clock
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc, add_saml
from tests.cast import Cast, signed_in

REFUSAL = "requires two-factor sign-in"


def test_a_session_of_the_accounts_provider_needs_no_second_factor_here(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    Account.objects.update(second_factor_required=True, second_factor_required_at=clock.now())
    oidc.set_next_sign_in({"sub": "both", "email": "both@example.com", "email_verified": True})
    browser = Browser()

    browser.sign_in(provider)

    assert browser.console.get("/a/acme/").status_code == 200
    # Not of this account: its admins never chose that provider.
    assert REFUSAL in browser.console.get("/a/elsewhere/").content.decode()
    assert REFUSAL in signed_in(cast.viewer).get("/a/acme/").content.decode()


def test_it_counts_no_more_once_the_provider_is_deleted(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    Account.objects.update(second_factor_required=True, second_factor_required_at=clock.now())
    oidc.set_next_sign_in({"sub": "viewer", "email": "viewer@example.com", "email_verified": True})
    browser = Browser()
    browser.sign_in(provider)

    provider.delete()

    assert REFUSAL in browser.console.get("/a/acme/").content.decode()


@pytest.mark.parametrize(
    ("methods", "counts"),
    [
        (["pwd"], False),
        (["otp"], False),
        (["pwd", "otp"], True),
        (["mfa"], True),
        ("mfa", True),
        (None, False),
    ],
)
def test_with_the_setting_a_second_factor_counts_only_if_the_token_has_it(
    cast: Cast, oidc: Server, methods: object, counts: bool
) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    IdentityProvider.objects.update(requires_factor_claim=True)
    Account.objects.update(second_factor_required=True, second_factor_required_at=clock.now())
    person = {"sub": "viewer", "email": "viewer@example.com", "email_verified": True, "amr": ["mfa"]}
    oidc.set_next_sign_in(person, claims={"amr": methods})
    browser = Browser()

    browser.sign_in(provider)

    assert (REFUSAL not in browser.console.get("/a/acme/").content.decode()) == counts


@pytest.mark.parametrize(
    ("context", "counts"),
    [
        ("urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport", False),
        ("https://refeds.org/profile/mfa", True),
    ],
)
def test_saml_says_it_by_the_context(cast: Cast, saml: Server, context: str, counts: bool) -> None:
    provider = add_saml(cast.account, saml, "example.com")
    IdentityProvider.objects.update(requires_factor_claim=True)
    Account.objects.update(second_factor_required=True, second_factor_required_at=clock.now())
    person = {"sub": "viewer", "email": "viewer@example.com", "name": "V", "groups": []}
    saml.set_next_sign_in(person, options={"authnContextClassRef": context})
    browser = Browser()

    browser.sign_in(provider)

    assert (REFUSAL not in browser.console.get("/a/acme/").content.decode()) == counts

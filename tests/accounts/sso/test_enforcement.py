"""Enforced single sign-on refuses every other sign-in, except one of the owner."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.core import mail
from django.http import HttpRequest
from django.test import Client

from accounts.keys import mint_mcp_key
from accounts.models import OAuthApplication, OAuthConnection, User
from accounts.oauth.services import open_connection
from accounts.sso.models import IdentityProvider
from finops.lib.errors import UserError
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc
from tests.cast import ACTOR, PASSWORD, Cast, signed_in
from tests.mcpserver.mcp_client import McpClient


@pytest.fixture
def provider(cast: Cast, oidc: Server) -> IdentityProvider:
    for user in User.objects.all():
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return add_oidc(cast.account, oidc, "example.com", is_enforced=True)


def sign_in_by_password(user: User, **data: str) -> tuple[Client, Any]:
    client = Client()
    answer = client.post("/auth/login/", {"login": user.email, "password": PASSWORD, **data})
    return client, answer


def test_a_password_is_refused_with_the_reason(cast: Cast, provider: IdentityProvider) -> None:
    client, answer = sign_in_by_password(cast.viewer)

    assert "example.com uses single sign-on. Continue with Acme OIDC." in answer.content.decode()
    assert "/auth/sso/?email=viewer%40example.com" in answer.content.decode()
    assert "_auth_user_id" not in client.session


def test_no_response_reveals_whether_an_address_has_signed_up(cast: Cast, provider: IdentityProvider) -> None:
    unknown = Client().post("/auth/login/", {"login": "x@example.com", "password": "x"})

    assert "example.com uses single sign-on" in unknown.content.decode()


def test_the_owners_form_refuses_every_other_member(cast: Cast, provider: IdentityProvider) -> None:
    for person in (cast.viewer, cast.admin, cast.owner, cast.stranger):
        client, answer = sign_in_by_password(person, owner="1")

        assert (answer.status_code, answer["Location"][:15]) == (302, "/auth/sso/?emai")
        assert "_auth_user_id" not in client.session


def test_the_owner_with_a_second_factor_keeps_a_way_in(cast: Cast, provider: IdentityProvider) -> None:
    add_factor(cast.owner)
    page = Client().get("/auth/login/?owner=1").content.decode()
    client, answer = sign_in_by_password(cast.owner, owner="1")

    assert 'type="hidden" name="owner" value="1"' in page
    assert answer["Location"] == "/auth/2fa/authenticate/"
    code = RecoveryCodes.activate(cast.owner).get_unused_codes()[0]
    client.post("/auth/2fa/authenticate/", {"code": code})

    assert client.get("/a/acme/").status_code == 200


def add_factor(user: User) -> None:
    Authenticator.objects.create(
        user=user, type=Authenticator.Type.TOTP, data={"secret": get_adapter().encrypt("JBSWY3DPEHPK3PXP")}
    )


def test_sign_up_and_password_reset_are_refused(cast: Cast, provider: IdentityProvider) -> None:
    signed_up = Client().post("/auth/signup/", {"email": "new@example.com", "password1": PASSWORD})
    reset = Client().post("/auth/password/reset/", {"email": cast.viewer.email})

    for answer in (signed_up, reset):
        assert "example.com uses single sign-on" in answer.content.decode()
    assert not User.objects.filter(email="new@example.com").exists()
    assert mail.outbox == []


def test_another_spelling_of_the_domain_is_the_same_domain(cast: Cast, oidc: Server) -> None:
    """Mail for bücher.example arrives at xn--bcher-kva.example."""
    add_oidc(cast.account, oidc, "xn--bcher-kva.example", is_enforced=True)
    for email in ("new@bücher.example", "new@BÜCHER.example", "new@xn--bcher-kva.example"):
        answer = Client().post("/auth/signup/", {"email": email, "password1": PASSWORD})

        assert "uses single sign-on" in answer.content.decode(), email
    assert not User.objects.filter(email__startswith="new@").exists()


def test_a_session_that_did_not_come_through_the_provider_opens_no_page(
    cast: Cast, oidc: Server, provider: IdentityProvider
) -> None:
    client = signed_in(cast.viewer)
    refusal = client.get("/a/acme/")
    oidc.set_next_sign_in({"sub": "v", "email": "viewer@example.com", "email_verified": True})

    Browser(client).sign_in(email="viewer@example.com")

    assert refusal.status_code == 403
    assert "Acme requires single sign-on" in refusal.content.decode()
    assert str(provider.public_id) in refusal.content.decode()
    assert client.get("/a/acme/").status_code == 200


def test_a_session_of_another_provider_is_not_enough(
    cast: Cast, oidc: Server, provider: IdentityProvider
) -> None:
    company = add_oidc(None, oidc, "company.test", name="Company")
    User.objects.filter(pk=cast.both.pk).update(email="both@company.test")
    oidc.set_next_sign_in({"sub": "b", "email": "both@company.test", "email_verified": True})
    browser = Browser()

    browser.sign_in(company)

    assert browser.console.get("/a/elsewhere/").status_code == 200
    assert browser.console.get("/a/acme/").status_code == 403


def test_the_owner_without_a_second_factor_in_this_session_is_kept_out(
    cast: Cast, provider: IdentityProvider
) -> None:
    assert signed_in(cast.owner).get("/a/acme/").status_code == 403


def test_people_of_other_domains_and_accounts_sign_in_as_before(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "acme.test", is_enforced=True)

    client, answer = sign_in_by_password(cast.stranger)

    assert answer.status_code == 302
    assert client.get("/a/elsewhere/").status_code == 200


def test_an_unverified_domain_applies_to_no_person(
    cast: Cast, oidc: Server, provider: IdentityProvider
) -> None:
    provider.domains.update(verified_at=None)

    assert sign_in_by_password(cast.stranger)[1].status_code == 302
    assert Client().post("/auth/sso/", {"email": "viewer@example.com"}).status_code == 422


def test_keys_keep_working(cast: Cast, provider: IdentityProvider) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=ACTOR, name="script")

    assert McpClient(plaintext).ask("listBudgets")


def test_a_new_app_is_connected_in_such_a_session_alone(
    cast: Cast, oidc: Server, provider: IdentityProvider
) -> None:
    application = OAuthApplication.objects.create(
        client_id="app", client_type="public", authorization_grant_type="authorization-code"
    )
    client = signed_in(cast.viewer)

    def connect() -> None:
        request = HttpRequest()
        request.session, request.user = client.session, cast.viewer
        open_connection(
            user=cast.viewer,
            account=cast.account,
            application=application,
            access="read",
            redirect_uri="http://127.0.0.1/",
            request=request,
        )

    with pytest.raises(UserError, match="requires single sign-on"):
        connect()
    oidc.set_next_sign_in({"sub": "v", "email": "viewer@example.com", "email_verified": True})
    Browser(client).sign_in(email="viewer@example.com")
    connect()

    assert OAuthConnection.objects.unscoped().filter(user=cast.viewer).exists()


def test_the_operator_is_bound_by_no_account(cast: Cast, provider: IdentityProvider) -> None:
    User.objects.filter(pk=cast.stranger.pk).update(is_staff=True)

    assert sign_in_by_password(cast.stranger, owner="1")[1]["Location"] != "/auth/sso/"

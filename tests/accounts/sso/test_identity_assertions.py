"""Identity assertions (ID-JAG) at the token endpoint: the account's identity provider signs, a client shows them, a person's token
comes of it, or an error that says what to do. The provider is a real one."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import Any

import pytest
from django.core import signing
from django.core.cache import cache
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.credentials import authenticate_bearer
from accounts.models import OAuthAccessToken, OAuthConnection
from accounts.sso import attempts
from accounts.sso.models import AssertionClient, IdentityAssertion, IdentityProvider
from accounts.sso.signing_keys import cache_name
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status, token_request
from tests.accounts.oauth.test_token import secret_client
from tests.accounts.sso.assertion_agent import JWT_BEARER, Agent, refusal
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc
from tests.cast import Cast
from tests.mcpserver.mcp_client import McpClient

pytestmark = pytest.mark.usefixtures("empty_key_cache")
EXAMPLES = int(os.environ.get("SOAK_INPUTS", "20000" if os.environ.get("SOAK") else "40"))


def test_a_member_who_signed_in_once_is_connected_without_consent(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    agent = Agent(provider, oidc)
    error, text = refusal(agent.show(oidc.sign(agent.claims(sub="7"))))
    assert (error, text) == (
        "invalid_grant",
        "Sign in to this console through Acme OIDC once, then connect again.",
    )
    oidc.set_next_sign_in({"sub": "7", "email": "member@example.com", "email_verified": True})
    assert Browser().sign_in(email="member@example.com").status_code == 302

    answer = agent.show(oidc.sign(agent.claims(sub="7")))

    body = json_of(answer)
    assert body.keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert (body["scope"], body["expires_in"]) == ("mcp:read mcp:write", 3600)
    credential = authenticate_bearer(body["access_token"])
    assert credential is not None
    assert (credential.account, credential.actor.user, credential.may_write) == (
        cast.account,
        cast.member,
        True,
    )


@pytest.mark.parametrize(
    ("person", "access", "claim", "requested_scope", "granted_scope"),
    [
        ("member", "read_write", None, None, "mcp:read mcp:write"),
        ("admin", "read_write", "mcp:write", None, "mcp:read mcp:write"),
        ("member", "read_write", "mcp:read", None, "mcp:read"),
        ("member", "read_write", "mcp:read other", "mcp:read mcp:write", "mcp:read"),
        ("member", "read_write", None, "mcp:read", "mcp:read"),
        ("member", "read_write", None, "mcp:write", "mcp:read mcp:write"),
        ("member", "read", "mcp:read mcp:write", None, "mcp:read"),
        ("viewer", "read_write", "mcp:read mcp:write", None, "mcp:read"),
    ],
)
def test_a_token_does_what_assertion_request_client_and_role_all_allow(
    agent: Agent, person: str, access: str, claim: str | None, requested_scope: str | None, granted_scope: str
) -> None:
    AssertionClient.objects.update(access=access)

    answer = agent.show(agent.server.sign(agent.claims(sub=person, scope=claim)), scope=requested_scope)

    assert json_of(answer)["scope"] == granted_scope
    credential = authenticate_bearer(json_of(answer)["access_token"])
    assert credential is not None
    assert credential.may_write is ("mcp:write" in granted_scope)


NOW = 0
"""Stands for this moment in the times of a case."""


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"iss": "https://other.example"}, "invalid_grant", "iss must be http"),
        ({"iss": None}, "invalid_grant", "iss must be"),
        ({"aud": "https://other.example"}, "invalid_grant", "aud must be http://127.0.0.1:8000 alone"),
        ({"aud": ["http://127.0.0.1:8000", "https://other.example"]}, "invalid_grant", "aud must be"),
        ({"aud": "http://127.0.0.1:8000/oauth/token"}, "invalid_grant", "aud must be"),
        ({"aud": None}, "invalid_grant", "aud must be"),
        ({"client_id": "another"}, "invalid_grant", "its client_id must be yours"),
        ({"client_id": None}, "invalid_grant", "its client_id must be yours"),
        ({"resource": "https://other.example/mcp"}, "invalid_target", "resource must be http"),
        ({"resource": None}, "invalid_target", "resource must be"),
        ({"resource": 7}, "invalid_target", "resource must be"),
        ({"sub": None}, "invalid_grant", "no usable sub"),
        ({"sub": ["member"]}, "invalid_grant", "no usable sub"),
        ({"sub": "nobody"}, "invalid_grant", "Sign in to this console through Acme OIDC once"),
        ({"sub": "member\0"}, "invalid_grant", "no usable sub"),
        ({"jti": None}, "invalid_grant", "no usable jti"),
        ({"jti": "j" * 300}, "invalid_grant", "no usable jti"),
        ({"exp": None}, "invalid_grant", "no usable exp"),
        ({"iat": None}, "invalid_grant", "no usable iat"),
        ({"exp": "soon"}, "invalid_grant", "no usable exp"),
        ({"exp": True}, "invalid_grant", "no usable exp"),
        ({"exp": 10**30}, "invalid_grant", "no usable exp"),
        ({"iat": NOW - 400, "exp": NOW - 90}, "invalid_grant", "has expired"),
        ({"iat": NOW + 300, "exp": NOW + 600}, "invalid_grant", "Check the clock"),
        ({"nbf": NOW + 300}, "invalid_grant", "Check the clock"),
        ({"exp": NOW + 86_400}, "invalid_grant", "longer than an hour"),
        ({"scope": "openid"}, "invalid_scope", "Ask for mcp:read"),
        ({"sub": "stranger"}, "invalid_grant", "not a member of Acme"),
    ],
)
def test_an_assertion_that_fails_a_check_gives_no_token(
    agent: Agent, changes: dict[str, Any], error: str, message: str
) -> None:
    now = int(clock.now().timestamp())
    times = {
        name: value + now
        for name, value in changes.items()
        if name in ("iat", "exp", "nbf") and type(value) is int and abs(value) < 10**6
    }

    error_code, text = refusal(agent.show(agent.server.sign(agent.claims(**{**changes, **times}))))

    assert error_code == error
    assert message in text
    assert not OAuthAccessToken.objects.exists()
    assert not OAuthConnection.objects.unscoped().exists()


@pytest.mark.parametrize(
    ("by", "header", "message"),
    [
        ("nobody", {}, "signed by RSA, EC or Ed25519"),
        ("public key", {}, "signed by RSA, EC or Ed25519"),
        ("stranger", {}, "not signed by Acme OIDC"),
        ("stranger", {"kid": "unknown"}, "not signed by Acme OIDC"),
        ("provider", {"typ": "JWT"}, "an ID token is not accepted"),
        ("provider", {"typ": None}, "an ID token is not accepted"),
        ("provider", {"typ": "at+jwt"}, "an ID token is not accepted"),
        ("stranger", {"jku": "http://127.0.0.1:1/keys"}, "not signed by Acme OIDC"),
    ],
)
def test_only_the_providers_signature_of_an_assertion_counts(
    agent: Agent, by: str, header: dict[str, Any], message: str
) -> None:
    assertion = agent.server.sign(agent.claims(), by, **header)

    error, text = refusal(agent.show(assertion))

    assert error == "invalid_grant"
    assert message in text
    assert not OAuthAccessToken.objects.exists()


def test_a_key_in_the_header_is_ignored(agent: Agent) -> None:
    from joserfc import jwt
    from joserfc.jwk import RSAKey

    own = RSAKey.generate_key(2048)
    header = {"alg": "RS256", "typ": "oauth-id-jag+jwt", "jwk": own.as_dict(private=False)}
    assertion = jwt.encode(header, agent.claims(), own)

    assert refusal(agent.show(assertion))[1] == "The assertion is not signed by Acme OIDC."


def test_an_assertion_counts_once(agent: Agent) -> None:
    assertion = agent.server.sign(agent.claims())
    assert agent.show(assertion).status_code == 200

    error, text = refusal(agent.show(assertion))

    assert (error, text) == (
        "invalid_grant",
        "The assertion was already used. Ask the identity provider for a new one.",
    )
    assert OAuthAccessToken.objects.count() == 1
    attempts.sweep()
    assert IdentityAssertion.objects.count() == 1
    IdentityAssertion.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    attempts.sweep()
    assert not IdentityAssertion.objects.exists()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_secret": "wrong"}, "invalid_client"),
        ({"client_secret": None}, "invalid_client"),
        ({"client_id": None, "client_secret": None}, "invalid_client"),
        ({"assertion": None}, "invalid_grant"),
        ({"assertion": "x"}, "invalid_grant"),
        ({"assertion": "a.b.c"}, "invalid_grant"),
        ({"resource": "https://other.example/"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"grant_type": "client_credentials"}, "unauthorized_client"),
        ({"grant_type": "authorization_code", "code": "x"}, "unauthorized_client"),
    ],
)
def test_a_wrong_request_gives_no_token(agent: Agent, changes: dict[str, Any], error: str) -> None:
    answer = agent.show(agent.server.sign(agent.claims()), **changes)

    assert refusal(answer)[0] == error
    assert not OAuthAccessToken.objects.exists()


def test_another_client_cannot_show_it(cast: Cast, agent: Agent, oidc: Server) -> None:
    """Neither one of the same provider, nor one that registered itself, nor one without a secret."""
    assertion = oidc.sign(agent.claims())
    other = Agent(agent.provider, oidc)
    registered, secret = secret_client()
    public = OAuthClient()

    assert refusal(other.show(assertion))[0] == "invalid_grant"
    form = {"grant_type": JWT_BEARER, "assertion": assertion}
    for credentials in (
        {"client_id": registered.client_id, "client_secret": secret},
        {"client_id": public.client_id},
    ):
        assert refusal(token_request({**form, **credentials}))[0] in {"unauthorized_client", "invalid_client"}
    assert not OAuthAccessToken.objects.exists()


def test_a_provider_that_does_not_answer_is_requested_once_a_minute(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    agent = Agent(provider, oidc)
    assertion = oidc.sign(agent.claims())
    IdentityProvider.objects.update(issuer="http://127.0.0.1:9")

    errors = [refusal(agent.show(assertion)) for _ in range(2)]

    assert [error for error, _text in errors] == ["temporarily_unavailable"] * 2
    assert errors[1][1] == "Acme OIDC did not answer. Try again in a minute."


def test_keys_are_kept_signed_so_that_a_forged_copy_in_the_cache_is_not_read(agent: Agent) -> None:
    agent.connect()
    forged = signing.dumps({"keys": []}, salt="another")
    cache.set(cache_name(agent.provider), forged)

    assert refusal(agent.show(agent.server.sign(agent.claims())))[0] == "temporarily_unavailable"

    cache.clear()
    assert mcp_status(agent.connect()) == 200


def test_the_metadata_and_the_mcp_server_advertise_it(agent: Agent) -> None:
    document = json.loads(Client().get("/.well-known/oauth-authorization-server").content)
    capabilities = McpClient(agent.connect()).result("server/discover")["capabilities"]

    assert document["authorization_grant_profiles_supported"] == [
        "urn:ietf:params:oauth:grant-profile:id-jag"
    ]
    assert JWT_BEARER in document["grant_types_supported"]
    assert capabilities["extensions"]["io.modelcontextprotocol/enterprise-managed-authorization"] == {}


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
CHECKED = ["iss", "sub", "aud", "client_id", "resource", "jti", "iat", "exp"]


@pytest.mark.soak
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_an_assertion_says_there_is_no_token_and_no_failure(
    agent: Agent, data: st.DataObject
) -> None:
    """Signed by the provider, with one claim that is checked replaced by anything; or no JWT at all."""
    if data.draw(st.booleans()):
        name = data.draw(st.sampled_from(CHECKED))
        value = data.draw(odd.filter(lambda each: not isinstance(each, int | float) or abs(each) < 1e9))
        try:
            assertion = agent.server.sign({**agent.claims(), name: value})
        except ValueError:
            return
        if name == "jti" and isinstance(value, str) and value.isascii() and value.isprintable() and value:
            return
    else:
        assertion = data.draw(st.text(max_size=60) | st.from_regex(r"[\w-]{0,40}\.[\w-]{0,60}\.[\w-]{0,40}"))

    answer = agent.show(assertion.encode("utf-8", "replace").decode())

    assert answer.status_code in {400, 401, 429}, answer.content
    assert not OAuthAccessToken.objects.exists()

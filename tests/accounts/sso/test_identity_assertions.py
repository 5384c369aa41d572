"""Identity assertions (ID-JAG) at the token endpoint: the account's identity provider signs, a client shows them, a person's token
comes of it, or an error that says what to do. The provider is a real one."""

from __future__ import annotations

import json
import os
import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.core import signing
from django.core.cache import cache
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.credentials import authenticate_bearer
from accounts.models import (
    Account,
    AuditEntry,
    Membership,
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    User,
)
from accounts.oauth.resource import issuer, resource
from accounts.oauth.services import sweep
from accounts.scoping import account_scope
from accounts.services import change_role, remove_member
from accounts.services.suspension import suspend_account
from accounts.sso import attempts
from accounts.sso.assertion_clients import add_assertion_client, remove_assertion_client
from accounts.sso.models import AssertionClient, Identity, IdentityAssertion, IdentityProvider
from accounts.sso.services import delete_provider, save_provider
from accounts.sso.signing_keys import cache_name
from finops.cost_access.queries import limits_of_credential
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.lib import clock
from finops.lib.errors import UserError
from tests.accounts.oauth.flow import OAuthClient, json_of, status_at_door, token_request
from tests.accounts.oauth.test_token import secret_client
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc, add_saml
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.mcpserver.door import Door

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXAMPLES = int(os.environ.get("SOAK_INPUTS", "20000" if os.environ.get("SOAK") else "40"))


class Agent:
    """An MCP client of a provider: its credentials, and what it sends."""

    def __init__(
        self,
        provider: IdentityProvider,
        server: Server,
        access: str = "read_write",
        account: Account | None = None,
    ) -> None:
        self.provider, self.server = provider, server
        self.row, self.secret = add_assertion_client(
            provider=provider, actor=ACTOR, name=secrets.token_hex(4), access=access, account=account
        )
        self.client_id = self.row.application.client_id

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Those of a good assertion; a change to None leaves one out."""
        now = int(clock.now().timestamp())
        claims = {
            "iss": self.server.url,
            "sub": "member",
            "aud": issuer(),
            "client_id": self.client_id,
            "resource": resource(),
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + 300,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def show(self, assertion: str, /, **changes: Any) -> Any:
        form = {
            "grant_type": JWT_BEARER,
            "assertion": assertion,
            "client_id": self.client_id,
            "client_secret": self.secret,
            "resource": resource(),
            **changes,
        }
        return token_request({name: value for name, value in form.items() if value is not None})

    def connect(self, **changes: Any) -> str:
        answer = self.show(self.server.sign(self.claims(**changes)))
        assert answer.status_code == 200, answer.content
        token: str = json_of(answer)["access_token"]
        return token


@pytest.fixture(autouse=True)
def _no_kept_keys() -> None:
    cache.clear()


def link(provider: IdentityProvider, user: User, subject: str) -> None:
    Identity.objects.create(provider=provider, subject=subject, user=user)


@pytest.fixture
def agent(cast: Cast, oidc: Server) -> Agent:
    provider = add_oidc(cast.account, oidc, "example.com")
    for name in ("member", "viewer", "admin", "stranger"):
        link(provider, cast.person(name), name)
    return Agent(provider, oidc)


def refusal(answer: Any) -> tuple[str, str]:
    """The error, and what it says to do."""
    assert answer.status_code in {400, 401}, answer.content
    assert answer["Cache-Control"] == "no-store"
    problem = json_of(answer)
    return problem["error"], problem.get("error_description", "")


def test_a_member_who_signed_in_once_is_connected_without_consent(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    agent = Agent(provider, oidc)
    error, text = refusal(agent.show(oidc.sign(agent.claims(sub="7"))))
    assert (error, text) == (
        "invalid_grant",
        "Sign in to this console through Acme OIDC once, then connect again.",
    )
    oidc.will_say({"sub": "7", "email": "member@example.com", "email_verified": True})
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
    ("person", "access", "claim", "asked", "granted"),
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
    agent: Agent, person: str, access: str, claim: str | None, asked: str | None, granted: str
) -> None:
    AssertionClient.objects.update(access=access)

    answer = agent.show(agent.server.sign(agent.claims(sub=person, scope=claim)), scope=asked)

    assert json_of(answer)["scope"] == granted
    credential = authenticate_bearer(json_of(answer)["access_token"])
    assert credential is not None
    assert credential.may_write is ("mcp:write" in granted)


NOW = 0
"""Stands for this moment in the times of a case."""


@pytest.mark.parametrize(
    ("changes", "error", "says"),
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
    agent: Agent, changes: dict[str, Any], error: str, says: str
) -> None:
    now = int(clock.now().timestamp())
    times = {
        name: value + now
        for name, value in changes.items()
        if name in ("iat", "exp", "nbf") and type(value) is int and abs(value) < 10**6
    }

    got, text = refusal(agent.show(agent.server.sign(agent.claims(**{**changes, **times}))))

    assert got == error
    assert says in text
    assert not OAuthAccessToken.objects.exists()
    assert not OAuthConnection.objects.unscoped().exists()


@pytest.mark.parametrize(
    ("by", "header", "says"),
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
    agent: Agent, by: str, header: dict[str, Any], says: str
) -> None:
    assertion = agent.server.sign(agent.claims(), by, **header)

    error, text = refusal(agent.show(assertion))

    assert error == "invalid_grant"
    assert says in text
    assert not OAuthAccessToken.objects.exists()


def test_a_key_in_the_header_is_not_looked_at(agent: Agent) -> None:
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


def test_a_provider_of_another_account_speaks_for_nobody_here(cast: Cast, agent: Agent, oidc: Server) -> None:
    """The same issuer in two accounts: each has clients and people of its own."""
    elsewhere = Agent(add_oidc(cast.other_account, oidc, "elsewhere.test"), oidc)

    assert refusal(elsewhere.show(oidc.sign(elsewhere.claims())))[0] == "invalid_grant"
    assert not OAuthAccessToken.objects.exists()


def test_a_removed_member_gets_none_and_loses_hers(cast: Cast, agent: Agent) -> None:
    token = agent.connect()
    remove_member(membership=cast.member.memberships.get(account=cast.account), actor=ACTOR)

    assert status_at_door(token) == 401
    assert refusal(agent.show(agent.server.sign(agent.claims())))[1].startswith(
        "You are not a member of Acme."
    )


def test_a_demoted_member_reads_from_then_on(cast: Cast, agent: Agent) -> None:
    token = agent.connect()
    membership = cast.member.memberships.get(account=cast.account)
    change_role(membership=membership, role=Membership.objects.get(user=cast.viewer).role, actor=ACTOR)

    credential = authenticate_bearer(token)
    assert credential is not None
    assert not credential.may_write


def deactivate(cast: Cast, agent: Agent) -> None:
    User.objects.filter(pk=cast.member.pk).update(is_active=False)


def make_operator(cast: Cast, agent: Agent) -> None:
    User.objects.filter(pk=cast.member.pk).update(is_staff=True)


def move_away(cast: Cast, agent: Agent) -> None:
    User.objects.filter(pk=cast.member.pk).update(email="member@other.test")


def lose_the_domain(cast: Cast, agent: Agent) -> None:
    agent.provider.domains.update(verified_at=None)


def suspend(cast: Cast, agent: Agent) -> None:
    suspend_account(account=cast.account, actor=ACTOR)


def enforce_another(cast: Cast, agent: Agent) -> None:
    other = add_oidc(cast.account, agent.server, name="Other")
    IdentityProvider.objects.filter(pk=other.pk).update(is_enforced=True)


def require_factor(cast: Cast, agent: Agent) -> None:
    cast.account.second_factor_required = True
    cast.account.second_factor_required_at = clock.now() - timedelta(days=300)
    cast.account.save()
    Membership.objects.update(created_at=clock.now() - timedelta(days=300))
    IdentityProvider.objects.update(requires_factor_claim=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (deactivate, "deactivated"),
        (make_operator, "Operators of this server sign in by password"),
        (move_away, "whose domain is not one of Acme OIDC"),
        (lose_the_domain, "whose domain is not one of Acme OIDC"),
        (suspend, "The account is suspended"),
        (enforce_another, "requires single sign-on by Other"),
        (require_factor, "requires two-factor sign-in"),
    ],
)
def test_whom_a_sign_in_would_not_let_in_gets_no_token(
    cast: Cast, agent: Agent, change: Any, says: str
) -> None:
    change(cast, agent)

    error, text = refusal(agent.show(agent.server.sign(agent.claims())))

    assert error == "invalid_grant"
    assert says in text
    assert not OAuthAccessToken.objects.exists()


def test_a_second_factor_at_the_provider_counts(cast: Cast, agent: Agent) -> None:
    require_factor(cast, agent)

    assert status_at_door(agent.connect(amr=["pwd", "otp"])) == 200


def test_the_persons_limit_of_cost_access_holds(cast: Cast, agent: Agent) -> None:
    service = CostFilter(dimension="service", op="in", values=["Amazon S3"])
    limit = create_limit(account=cast.account, actor=ACTOR, name="S3", alternatives=[[service]])
    limit_member(membership=cast.member.memberships.get(account=cast.account), limit=limit, actor=ACTOR)

    credential = authenticate_bearer(agent.connect())

    assert credential is not None
    assert limits_of_credential(credential) == [limit]


def test_a_person_has_one_connection_with_a_client_which_stays_between_assertions(
    cast: Cast, agent: Agent
) -> None:
    agent.connect()
    agent.connect()
    OAuthConnection.objects.unscoped().update(created_at=clock.now() - timedelta(days=2))
    OAuthAccessToken.objects.update(expires=clock.now() - timedelta(days=1))
    sweep()

    with account_scope(cast.account):
        connection = OAuthConnection.objects.get()
        entry = AuditEntry.objects.get(action="connected_app.connect")
    assert connection.user == cast.member
    assert (entry.actor_label, entry.detail["provider"]) == ("member@example.com", "Acme OIDC")
    OAuthConnection.objects.unscoped().update(created_at=clock.now() - timedelta(days=40))
    sweep()
    assert not OAuthConnection.objects.unscoped().exists()


@pytest.mark.parametrize("how", ["client", "provider", "issuer"])
def test_what_ends_the_client_ends_its_tokens(cast: Cast, agent: Agent, how: str) -> None:
    token = agent.connect()

    if how == "client":
        remove_assertion_client(client=agent.row, actor=ACTOR)
        remove_assertion_client(client=agent.row, actor=ACTOR)
    elif how == "provider":
        delete_provider(provider=agent.provider, actor=ACTOR)
    else:
        agent.provider.issuer = "https://other.example"
        save_provider(provider=agent.provider, actor=ACTOR, client_secret="new")

    assert status_at_door(token) == 401
    assert not OAuthConnection.objects.unscoped().exists()
    if how != "issuer":
        assert not OAuthApplication.objects.filter(client_id=agent.client_id).exists()
        assert refusal(agent.show(agent.server.sign(agent.claims())))[0] == "invalid_client"


def test_a_provider_that_does_not_answer_is_asked_once_a_minute(cast: Cast, oidc: Server) -> None:
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
    assert status_at_door(agent.connect()) == 200


def test_the_metadata_and_the_mcp_server_advertise_it(agent: Agent) -> None:
    document = json.loads(Client().get("/.well-known/oauth-authorization-server").content)
    capabilities = Door(agent.connect()).result("server/discover")["capabilities"]

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


# --- The pages of an admin

PROVIDER_PAGE = "/a/acme/settings/sign-on/{}/"


def test_an_admin_adds_a_client_whose_secret_is_shown_once_and_removes_it(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    link(provider, cast.member, "member")
    client = reauthenticated(signed_in(cast.admin), cast.admin)
    page = PROVIDER_PAGE.format(provider.pk)

    shown = client.post(f"{page}clients/add/", {"client-name": "Claude", "client-access": "read"})

    secret = shown.context["plaintext"]
    assert secret in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    agent = Agent.__new__(Agent)
    agent.provider, agent.server, agent.row = provider, oidc, AssertionClient.objects.get()
    agent.client_id, agent.secret = agent.row.application.client_id, secret
    token = agent.connect()
    listed = client.get(page).content.decode()
    assert agent.client_id in listed
    assert secret not in listed
    apps = client.get("/a/acme/settings/connected-apps/").content.decode()
    assert "Authorized by Acme OIDC" in apps
    client.post(f"/a/acme/settings/sign-on/clients/{agent.row.pk}/remove/")
    assert status_at_door(token) == 401
    with account_scope(cast.account):
        actions = set(AuditEntry.objects.filter(target="Claude").values_list("action", flat=True))
    assert {"assertion_client.add", "assertion_client.remove"} <= actions


@pytest.mark.parametrize(("name", "status"), [("stranger", 404), ("viewer", 403), ("member", 403)])
def test_others_add_and_remove_none(cast: Cast, agent: Agent, name: str, status: int) -> None:
    client = reauthenticated(signed_in(cast.person(name)), cast.person(name))
    page = PROVIDER_PAGE.format(agent.provider.pk)

    answers = [
        client.post(f"{page}clients/add/", {"client-name": "Claude", "client-access": "read"}),
        client.post(f"/a/acme/settings/sign-on/clients/{agent.row.pk}/remove/"),
    ]

    assert [answer.status_code for answer in answers] == [status, status]
    assert AssertionClient.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"client-name": " ", "client-access": "read"}, "Enter a name."),
        ({"client-name": "Taken", "client-access": "read"}, "Another client has this name."),
        ({"client-name": "Claude", "client-access": "admin"}, "Select a valid choice."),
    ],
)
def test_a_wrong_client_is_refused_at_its_field(
    cast: Cast, oidc: Server, fields: dict[str, str], says: str
) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    add_assertion_client(provider=provider, actor=ACTOR, name="taken")
    client = reauthenticated(signed_in(cast.admin), cast.admin)

    answer = client.post(f"{PROVIDER_PAGE.format(provider.pk)}clients/add/", fields)

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert AssertionClient.objects.count() == 1


def test_a_provider_by_saml_signs_no_assertions(cast: Cast, saml: Server) -> None:
    provider = add_saml(cast.account, saml, "example.com")
    client = reauthenticated(signed_in(cast.admin), cast.admin)
    page = PROVIDER_PAGE.format(provider.pk)

    answer = client.post(f"{page}clients/add/", {"client-name": "Claude", "client-access": "read"})

    assert answer.status_code == 404
    with pytest.raises(UserError, match="Only an OpenID Connect provider"):
        add_assertion_client(provider=provider, actor=ACTOR, name="Claude")
    assert "Enterprise-managed authorization" not in client.get(page).content.decode()

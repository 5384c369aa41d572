"""Clients that show a provider's identity assertions: an admin's pages of them, and what ends their tokens."""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry, OAuthApplication, OAuthConnection
from accounts.scoping import account_scope
from accounts.sso.assertion_clients import add_assertion_client, remove_assertion_client
from accounts.sso.models import AssertionClient
from accounts.sso.services import delete_provider, save_provider
from finops.lib.errors import UserError
from tests.accounts.oauth.flow import mcp_status
from tests.accounts.sso.assertion_agent import Agent, link, refusal
from tests.accounts.sso.providers import Server, add_oidc, add_saml
from tests.cast import ACTOR, Cast, reauthenticated, signed_in

pytestmark = pytest.mark.usefixtures("empty_key_cache")


@pytest.mark.parametrize("how", ["client", "provider", "issuer"])
def test_the_end_of_a_client_ends_its_tokens(cast: Cast, agent: Agent, how: str) -> None:
    token = agent.connect()

    if how == "client":
        remove_assertion_client(client=agent.row, actor=ACTOR)
        remove_assertion_client(client=agent.row, actor=ACTOR)
    elif how == "provider":
        delete_provider(provider=agent.provider, actor=ACTOR)
    else:
        agent.provider.issuer = "https://other.example"
        save_provider(provider=agent.provider, actor=ACTOR, client_secret="new")

    assert mcp_status(token) == 401
    assert not OAuthConnection.objects.unscoped().exists()
    if how != "issuer":
        assert not OAuthApplication.objects.filter(client_id=agent.client_id).exists()
        assert refusal(agent.show(agent.server.sign(agent.claims())))[0] == "invalid_client"


PROVIDER_PAGE = "/a/acme/settings/sign-on/{}/"


def test_an_admin_adds_a_client_whose_secret_is_shown_once_and_removes_it(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    link(provider, cast.member, "member")
    client = reauthenticated(signed_in(cast.admin), cast.admin)
    page = PROVIDER_PAGE.format(provider.pk)

    response = client.post(f"{page}clients/add/", {"client-name": "Claude", "client-access": "read"})

    secret = response.context["plaintext"]
    assert secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    agent = Agent.__new__(Agent)
    agent.provider, agent.server, agent.row = provider, oidc, AssertionClient.objects.get()
    agent.client_id, agent.secret = agent.row.application.client_id, secret
    token = agent.connect()
    listing = client.get(page).content.decode()
    assert agent.client_id in listing
    assert secret not in listing
    apps = client.get("/a/acme/settings/connected-apps/").content.decode()
    assert "Authorized by Acme OIDC" in apps
    client.post(f"/a/acme/settings/sign-on/clients/{agent.row.pk}/remove/")
    assert mcp_status(token) == 401
    with account_scope(cast.account):
        actions = set(AuditEntry.objects.filter(target="Claude").values_list("action", flat=True))
    assert {"assertion_client.add", "assertion_client.remove"} <= actions


@pytest.mark.parametrize(("name", "status"), [("stranger", 404), ("viewer", 403), ("member", 403)])
def test_only_admins_add_and_remove_clients(cast: Cast, agent: Agent, name: str, status: int) -> None:
    client = reauthenticated(signed_in(cast.person(name)), cast.person(name))
    page = PROVIDER_PAGE.format(agent.provider.pk)

    answers = [
        client.post(f"{page}clients/add/", {"client-name": "Claude", "client-access": "read"}),
        client.post(f"/a/acme/settings/sign-on/clients/{agent.row.pk}/remove/"),
    ]

    assert [answer.status_code for answer in answers] == [status, status]
    assert AssertionClient.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"client-name": " ", "client-access": "read"}, "Enter a name."),
        ({"client-name": "Taken", "client-access": "read"}, "Another client has this name."),
        ({"client-name": "Claude", "client-access": "admin"}, "Select a valid choice."),
    ],
)
def test_a_wrong_client_is_refused_at_its_field(
    cast: Cast, oidc: Server, fields: dict[str, str], message: str
) -> None:
    provider = add_oidc(cast.account, oidc, "example.com")
    add_assertion_client(provider=provider, actor=ACTOR, name="taken")
    client = reauthenticated(signed_in(cast.admin), cast.admin)

    answer = client.post(f"{PROVIDER_PAGE.format(provider.pk)}clients/add/", fields)

    assert answer.status_code == 422
    assert message in answer.content.decode()
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

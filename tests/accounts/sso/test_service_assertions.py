"""Identity assertions (ID-JAG) of a provider of the whole service: which account a token is of, for whom there is none, and the
operator's pages of its clients. The provider is a real one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.test import Client

from accounts.credentials import authenticate_bearer
from accounts.models import Account, AuditEntry, Membership, OAuthAccessToken, OAuthConnection, User
from accounts.scoping import account_scope
from accounts.services import add_member, remove_member
from accounts.services.suspension import suspend_account
from accounts.sso.assertion_clients import add_assertion_client
from accounts.sso.models import AssertionClient, EmailDomain, IdentityProvider
from accounts.sso.services import delete_provider, disable_provider, enable_provider
from finops.lib import clock
from tests.accounts.oauth.flow import json_of, mcp_status
from tests.accounts.sso.assertion_agent import Agent, link, refusal
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc, add_saml
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.pages import get_page

PEOPLE = ("owner", "admin", "member", "viewer", "stranger", "both")
pytestmark = pytest.mark.usefixtures("empty_key_cache")


@pytest.fixture
def provider(cast: Cast, oidc: Server) -> IdentityProvider:
    row = add_oidc(None, oidc, name="Staff")
    for name in PEOPLE:
        link(row, cast.person(name), name)
    return row


@pytest.fixture
def agent(provider: IdentityProvider, oidc: Server) -> Agent:
    return Agent(provider, oidc)


def show(agent: Agent, person: str) -> tuple[str, str]:
    """Error and description for a good assertion of the person."""
    return refusal(agent.show(agent.server.sign(agent.claims(sub=person))))


def account_of(token: str) -> Account:
    credential = authenticate_bearer(token)
    assert credential is not None
    return credential.account


def test_a_member_who_signed_in_once_is_connected_to_her_only_account(cast: Cast, oidc: Server) -> None:
    agent = Agent(add_oidc(None, oidc, name="Staff"), oidc)
    assert show(agent, "7")[1] == "Sign in to this console through Staff once, then connect again."
    oidc.set_next_sign_in({"sub": "7", "email": "member@example.com", "email_verified": True})
    assert Browser().sign_in(agent.provider).status_code == 302

    token = agent.connect(sub="7")

    credential = authenticate_bearer(token)
    assert credential is not None
    assert (credential.account, credential.actor.user, credential.may_write) == (
        cast.account,
        cast.member,
        True,
    )
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="connected_app.connect")
    assert (entry.actor_label, entry.detail["provider"]) == ("member@example.com", "Staff")


@pytest.mark.parametrize(
    ("person", "slug", "may_write"),
    [("owner", "acme", True), ("viewer", "acme", False), ("stranger", "elsewhere", True)],
)
def test_each_persons_token_is_of_her_account_and_role(
    cast: Cast, agent: Agent, person: str, slug: str, may_write: bool
) -> None:
    credential = authenticate_bearer(agent.connect(sub=person))

    assert credential is not None
    assert (credential.account.slug, credential.may_write) == (slug, may_write)
    rows = OAuthConnection.objects.unscoped().values_list("account__slug", "user__email")
    assert list(rows) == [(slug, f"{person}@example.com")]


def test_a_person_of_two_accounts_needs_a_client_that_is_bound_to_one(
    cast: Cast, agent: Agent, oidc: Server
) -> None:
    error, text = show(agent, "both")

    assert error == "invalid_grant"
    assert text == (
        "You are a member of several accounts, and this client is bound to none. Ask the operator of this console "
        "for a client of Staff that is bound to your account."
    )
    assert not OAuthAccessToken.objects.exists()
    for account, may_write in ((cast.account, True), (cast.other_account, False)):
        bound = Agent(agent.provider, oidc, account=account)
        credential = authenticate_bearer(bound.connect(sub="both"))
        assert credential is not None
        assert (credential.account, credential.may_write) == (account, may_write)


@pytest.mark.parametrize("person", ["member", "viewer", "admin", "owner"])
def test_a_client_bound_to_an_account_gives_no_other_person_access(
    cast: Cast, provider: IdentityProvider, oidc: Server, person: str
) -> None:
    elsewhere = Agent(provider, oidc, account=cast.other_account)

    error, text = show(elsewhere, person)

    assert error == "invalid_grant"
    assert text == "You are not a member of the account of this client. Ask an admin for an invitation."
    assert not OAuthConnection.objects.unscoped().exists()


def test_a_suspended_account_gives_none_and_does_not_lead_a_client_to_another(
    cast: Cast, agent: Agent, oidc: Server
) -> None:
    bound = Agent(agent.provider, oidc, account=cast.account)
    token = agent.connect(sub="member")
    suspend_account(account=cast.account, actor=ACTOR)

    assert mcp_status(token) in {401, 403}
    assert "suspended" in show(agent, "member")[1]
    assert "suspended" in show(bound, "both")[1]
    assert "several accounts" in show(agent, "both")[1]
    assert "not a member" in show(bound, "stranger")[1]


def test_the_connection_ends_with_the_membership(cast: Cast, agent: Agent) -> None:
    token = agent.connect(sub="member")

    remove_member(membership=cast.member.memberships.get(account=cast.account), actor=ACTOR)

    assert mcp_status(token) == 401
    assert not OAuthConnection.objects.unscoped().exists()
    assert show(agent, "member")[1] == "You are not a member of an account. Ask an admin for an invitation."


def test_a_second_membership_moves_no_connection(cast: Cast, agent: Agent) -> None:
    token = agent.connect(sub="member")

    add_member(account=cast.other_account, user=cast.member, role="viewer", actor=ACTOR)

    assert account_of(token) == cast.account
    assert "several accounts" in show(agent, "member")[1]
    assert OAuthConnection.objects.unscoped().get().account == cast.account


def deactivate(cast: Cast, provider: IdentityProvider) -> None:
    User.objects.filter(pk=cast.member.pk).update(is_active=False)


def restrict_to_another_domain(cast: Cast, provider: IdentityProvider) -> None:
    EmailDomain.objects.create(provider=provider, domain="other.test", record="x", verified_at=clock.now())


def verify_her_domain_for_the_account(cast: Cast, provider: IdentityProvider) -> None:
    own = IdentityProvider.objects.create(
        account=cast.account, protocol="oidc", name="Own", issuer="https://own.example", client_id="x"
    )
    EmailDomain.objects.create(provider=own, domain="example.com", record="x", verified_at=clock.now())


def enforce_another(cast: Cast, provider: IdentityProvider) -> None:
    IdentityProvider.objects.create(
        account=cast.account,
        protocol="oidc",
        name="Own",
        issuer="https://own.example",
        client_id="x",
        is_enforced=True,
    )


def require_factor(cast: Cast, provider: IdentityProvider) -> None:
    """A provider of the whole service is no second factor of an account, in a sign-in neither."""
    long_ago = clock.now() - timedelta(days=300)
    Account.objects.update(second_factor_required=True, second_factor_required_at=long_ago)
    Membership.objects.update(created_at=long_ago)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (deactivate, "deactivated"),
        (restrict_to_another_domain, "whose domain is not one of Staff"),
        (verify_her_domain_for_the_account, "whose domain is not one of Staff"),
        (enforce_another, "Acme requires single sign-on by Own"),
        (require_factor, "Acme requires two-factor sign-in"),
    ],
)
def test_an_assertion_is_refused_where_a_sign_in_would_be(
    cast: Cast, agent: Agent, change: object, message: str
) -> None:
    assert callable(change)
    change(cast, agent.provider)

    error, text = show(agent, "member")

    assert error == "invalid_grant"
    assert message in text
    assert not OAuthAccessToken.objects.exists()


def test_a_disabled_provider_gives_no_token_and_ends_those_there_are(cast: Cast, agent: Agent) -> None:
    token = agent.connect(sub="member")

    disable_provider(provider=agent.provider, actor=ACTOR)

    assert mcp_status(token) == 401
    assert show(agent, "member") == ("invalid_grant", "Staff is disabled. Sign in another way.")
    enable_provider(provider=agent.provider, actor=ACTOR)
    assert mcp_status(token) == 401
    assert mcp_status(agent.connect(sub="member")) == 200


def test_deleting_the_provider_ends_its_tokens(cast: Cast, agent: Agent) -> None:
    token = agent.connect(sub="member")

    delete_provider(provider=agent.provider, actor=ACTOR)

    assert mcp_status(token) == 401
    assert show(agent, "member")[0] == "invalid_client"


def test_no_provider_signs_for_the_clients_of_another(cast: Cast, agent: Agent, oidc: Server) -> None:
    """The same issuer as provider of the service and of an account: a person linked to one is none of the other."""
    own = Agent(add_oidc(cast.account, oidc, "example.com"), oidc)

    assert show(own, "member")[1] == "Sign in to this console through Acme OIDC once, then connect again."
    swapped = agent.show(oidc.sign(own.claims()))
    assert refusal(swapped)[1] == "The assertion is of another client: its client_id must be yours."


def test_only_openid_connect_signs_and_an_accounts_provider_has_no_other_account(
    cast: Cast, oidc: Server, saml: Server
) -> None:
    with pytest.raises(Exception, match="Only an OpenID Connect provider"):
        add_assertion_client(provider=add_saml(None, saml), actor=ACTOR, name="Claude")
    with pytest.raises(ValidationError, match="of one account already"):
        add_assertion_client(
            provider=add_oidc(cast.account, oidc), actor=ACTOR, name="Claude", account=cast.other_account
        )


# --- The operator's pages


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def page_of(provider: IdentityProvider) -> str:
    return f"/admin/sso/identityprovider/{provider.pk}/change/"


def new_client(provider: IdentityProvider) -> str:
    return f"/admin/sso/identityprovider/{provider.pk}/clients/new/"


def test_an_operator_adds_a_client_for_an_account_and_removes_it(
    cast: Cast, operator_client: Client, provider: IdentityProvider, oidc: Server
) -> None:
    assert new_client(provider) in operator_client.get(page_of(provider)).content.decode()

    response = operator_client.post(
        new_client(provider), {"client-name": "Claude", "client-access": "read", "client-account": "acme"}
    )

    secret = response.context["plaintext"]
    assert secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    agent = Agent.__new__(Agent)
    agent.provider, agent.server, agent.row = provider, oidc, AssertionClient.objects.get()
    agent.client_id, agent.secret = agent.row.application.client_id, secret
    assert (agent.row.account, agent.row.access) == (cast.account, "read")
    token = agent.connect(sub="both")
    assert account_of(token) == cast.account
    row = f"/admin/sso/assertionclient/{agent.row.pk}/"
    for url in (page_of(provider), f"{row}change/", "/admin/admin/logentry/"):
        page = operator_client.get(url).content.decode()
        assert "Claude" in page, url
        assert secret not in page, url

    operator_client.post(f"{row}actions/remove/")

    assert mcp_status(token) == 401
    assert list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True)) == [
        "Add client of Staff: read, Acme.",
        "Remove client: The client is removed.",
    ]
    with account_scope(cast.account):
        actors = dict(AuditEntry.objects.filter(target="Claude").values_list("action", "actor_label"))
    assert (
        actors["assertion_client.add"] == actors["assertion_client.remove"] == "Operator operator@example.com"
    )


def test_a_client_of_no_account_is_in_no_accounts_audit_log(
    cast: Cast, operator_client: Client, provider: IdentityProvider
) -> None:
    operator_client.post(new_client(provider), {"client-name": "Claude", "client-access": "read_write"})

    assert AssertionClient.objects.get().account is None
    assert not AuditEntry.objects.unscoped().filter(action="assertion_client.add").exists()
    assert LogEntry.objects.get().change_message == (
        "Add client of Staff: read_write, the only account of each person."
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"client-name": " "}, "Enter a name."),
        ({"client-name": "Taken"}, "Another client has this name."),
        ({"client-access": "admin"}, "Select a valid choice."),
        ({"client-account": "nowhere"}, "No account has this slug."),
        ({"client-account": "no slug!"}, "No account has this slug."),
    ],
)
def test_a_wrong_client_is_refused_at_its_field(
    operator_client: Client, agent: Agent, fields: dict[str, str], message: str
) -> None:
    AssertionClient.objects.update(name="taken")

    answer = operator_client.post(
        new_client(agent.provider), {"client-name": "Claude", "client-access": "read", **fields}
    )

    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert AssertionClient.objects.count() == 1


def test_other_people_get_no_form(
    cast: Cast, operator_client: Client, provider: IdentityProvider, saml: Server
) -> None:
    staff = User.objects.create_user("looks@example.com", "a long enough secret", is_staff=True)
    staff_client = reauthenticated(signed_in(staff), staff)
    owner = reauthenticated(signed_in(cast.owner), cast.owner)
    fields = {"client-name": "Claude", "client-access": "read"}
    by_saml, of_account = add_saml(None, saml), add_saml(cast.account, saml, name="Own")

    assert [client.post(new_client(provider), fields).status_code for client in (staff_client, owner)] == [
        404,
        404,
    ]
    assert [operator_client.post(new_client(row), fields).status_code for row in (by_saml, of_account)] == [
        404,
        404,
    ]
    assert new_client(provider) not in get_page(staff_client, page_of(provider))
    assert not AssertionClient.objects.exists()


def test_an_accounts_admin_neither_sees_nor_removes_a_client_of_the_service(
    cast: Cast, provider: IdentityProvider, oidc: Server
) -> None:
    bound = Agent(provider, oidc, account=cast.account)
    admin = reauthenticated(signed_in(cast.admin), cast.admin)

    answers = [
        admin.post(f"/a/acme/settings/sign-on/{provider.pk}/clients/add/", {"client-name": "X"}),
        admin.post(f"/a/acme/settings/sign-on/clients/{bound.row.pk}/remove/"),
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert json_of(bound.show(oidc.sign(bound.claims())))["scope"] == "mcp:read mcp:write"

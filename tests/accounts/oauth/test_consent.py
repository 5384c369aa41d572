"""The consent page: the person chooses the account and the access, and nothing a client says can choose for her."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Membership, OAuthConnection, OAuthGrant
from accounts.scoping import account_scope
from accounts.services import create_account
from tests.accounts.oauth.flow import CALLBACK, OAuthClient, answer_of, tokens_of
from tests.cast import PASSWORD, Cast, signed_in


def only_connection() -> OAuthConnection:
    return OAuthConnection.objects.unscoped().get()


def context_of(cast: Cast, person: str, client: OAuthClient, **changes: Any) -> Any:
    answer = signed_in(cast.person(person)).get(client.authorize_url(**changes))
    assert answer.status_code == 200
    return answer.context


def test_read_only_is_preselected_even_when_more_was_requested(cast: Cast) -> None:
    form = context_of(cast, "member", OAuthClient())["form"]

    assert form["access"].initial == "read"
    assert [value for value, _label in form.fields["access"].choices] == ["read", "read_write"]


def test_only_requested_permissions_are_offered(cast: Cast) -> None:
    form = context_of(cast, "member", OAuthClient(), scope="mcp:read")["form"]

    assert [value for value, _label in form.fields["access"].choices] == ["read"]


@pytest.mark.parametrize("scope", [None, "offline_access", "mcp:read mcp:write", "mcp:write"])
def test_both_are_offered_when_the_client_asks_for_nothing_or_for_writing(
    cast: Cast, scope: str | None
) -> None:
    client = OAuthClient()

    assert context_of(cast, "member", client, scope=scope)["writes"] is True
    assert client.connect(cast.member, access="read_write", scope=scope).scope == "mcp:read mcp:write"


def test_the_page_offers_the_persons_own_accounts_alone(cast: Cast) -> None:
    slugs = {
        person: [
            value
            for value, _label in context_of(cast, person, OAuthClient())["form"].fields["account"].choices
        ]
        for person in ("member", "both")
    }

    assert slugs == {"member": ["acme"], "both": ["acme", "elsewhere"]}


def test_a_client_that_comes_again_finds_the_account_of_before(cast: Cast) -> None:
    client = OAuthClient()
    assert context_of(cast, "both", client)["form"]["account"].initial == "acme"

    client.connect(cast.both, account="elsewhere")

    assert context_of(cast, "both", client)["form"]["account"].initial == "elsewhere"
    assert context_of(cast, "member", client)["form"]["account"].initial == "acme"


@pytest.mark.parametrize(
    ("account", "access"),
    [("elsewhere", "read"), ("nowhere", "read"), ("", "read"), ("acme", "admin")],
)
def test_no_form_reaches_another_account_or_an_unknown_access(cast: Cast, account: str, access: str) -> None:
    answer = OAuthClient().consent(cast.member, account, access)

    assert answer.status_code == 422
    assert not OAuthConnection.objects.unscoped().exists()


def test_read_and_write_is_not_granted_when_only_reading_was_requested(cast: Cast) -> None:
    answer = OAuthClient().consent(cast.member, access="read_write", scope="mcp:read")

    assert answer.status_code == 422
    assert not OAuthGrant.objects.exists()


def test_a_viewer_cannot_let_a_client_write(cast: Cast) -> None:
    answer = OAuthClient().consent(cast.viewer, access="read_write")

    assert answer.status_code == 422
    assert "You are a viewer of Acme" in answer.content.decode()
    assert not OAuthGrant.objects.exists()


def test_a_posted_scope_gains_nothing(cast: Cast) -> None:
    client = OAuthClient()
    extra = {"scope": "mcp:read mcp:write", "resource": "https://evil.example/", "code_challenge": "x"}

    answer = client.consent(cast.member, scope="mcp:read", post=extra)

    tokens = tokens_of(client.exchange(answer_of(answer)["code"]))
    assert tokens.scope == "mcp:read"
    assert only_connection().access == "read"


@pytest.mark.parametrize(
    "name", ["account_id", "account", "connection", "consent", "user", "client", "access"]
)
def test_an_account_injected_into_the_url_gains_nothing(cast: Cast, name: str) -> None:
    client = OAuthClient()
    injected = {name: str(cast.other_account.pk)}

    form = {"decision": "allow", "account": "acme", "access": "read"}
    answer = signed_in(cast.both).post(client.authorize_url(**injected), form)
    tokens = tokens_of(client.exchange(answer_of(answer)["code"], **injected))

    assert tokens.scope == "mcp:read"
    assert (only_connection().account, only_connection().user) == (cast.account, cast.both)


def test_a_posted_redirect_or_client_changes_nothing(cast: Cast) -> None:
    client, other = OAuthClient(), OAuthClient(redirect_uri="https://evil.example/cb")
    extra = {"redirect_uri": other.redirect_uri, "client_id": other.client_id, "state": "forged"}

    answer = client.consent(cast.member, post=extra)

    assert answer["Location"].startswith(CALLBACK)
    assert answer_of(answer)["state"] == client.state


@pytest.mark.parametrize("form", [{"decision": "deny"}, {"decision": ""}, {"allow": "1", "decision": "no"}])
def test_deny_goes_back_with_an_error_and_the_issuer(cast: Cast, form: dict[str, str]) -> None:
    client = OAuthClient()

    params = answer_of(client.consent(cast.member, post=form))

    assert (params["error"], params["state"], params["iss"]) == (
        "access_denied",
        client.state,
        "http://127.0.0.1:8000",
    )
    assert not OAuthConnection.objects.unscoped().exists()


def test_without_an_account_one_is_made_first(cast: Cast) -> None:
    Membership.objects.filter(user=cast.viewer).delete()
    client = OAuthClient()

    assert context_of(cast, "viewer", client)["memberships"] == []
    assert client.consent(cast.viewer).status_code == 422


def test_another_site_cannot_consent_for_the_person(cast: Cast) -> None:
    """The form carries the token of the session: fault of every consent page without one."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.member)

    answer = browser.post(
        OAuthClient().authorize_url(), {"decision": "allow", "account": "acme", "access": "read"}
    )

    assert answer.status_code == 403
    assert not OAuthConnection.objects.unscoped().exists()


def test_a_post_without_a_session_grants_nothing(cast: Cast) -> None:
    answer = Client().post(OAuthClient().authorize_url(), {"decision": "allow", "account": "acme"})

    assert answer.status_code == 302
    assert answer["Location"].startswith("/auth/login/")


@pytest.mark.parametrize(
    ("redirect_uri", "source"),
    [
        (CALLBACK, "http://127.0.0.1:7777"),
        ("https://client.example/cb", "https://client.example"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor:"),
        ("http://[::1]:99/cb", "http:"),
    ],
)
def test_the_browser_may_follow_the_answer_to_the_client_and_to_nobody_else(
    cast: Cast, redirect_uri: str, source: str
) -> None:
    """Chromium holds form-action against the redirect after the form (fault K)."""
    client = OAuthClient(redirect_uri=redirect_uri)

    policy = signed_in(cast.member).get(client.authorize_url())["Content-Security-Policy"]
    elsewhere = signed_in(cast.member).get("/auth/login/")["Content-Security-Policy"]

    assert f"form-action 'self' {source};" in f"{policy};"
    assert "form-action 'self';" in f"{elsewhere};"


def test_the_host_counts_not_the_name_the_client_gives_itself(cast: Cast) -> None:
    client = OAuthClient(redirect_uri="https://evil.example/cb", client_name="Claude\u202e by Anthropic\n")

    context = context_of(cast, "member", client)

    assert (context["client_host"], context["redirect_host"]) == ("evil.example", "evil.example")
    assert context["application"].name == "Claude by Anthropic"
    assert context["verified"] is False
    assert context["loopback"] is False


def test_a_program_on_the_own_computer_has_no_host_and_a_warning(cast: Cast) -> None:
    context = context_of(cast, "member", OAuthClient())

    assert (context["client_host"], context["loopback"]) == ("", True)


def test_a_connection_is_in_the_audit_log_of_its_account_alone(cast: Cast) -> None:
    OAuthClient().connect(cast.both, access="read_write")

    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="connected_app.connect")
    assert (entry.actor_user, entry.detail["access"]) == (cast.both, "read_write")
    with account_scope(cast.other_account):
        assert not AuditEntry.objects.filter(action="connected_app.connect").exists()


def test_a_person_in_two_accounts_connects_twice(cast: Cast) -> None:
    client = OAuthClient()

    for account in ("acme", "elsewhere"):
        client.connect(cast.both, account=account)

    slugs = OAuthConnection.objects.unscoped().order_by("pk").values_list("account__slug", flat=True)
    assert list(slugs) == ["acme", "elsewhere"]


def test_signing_in_leads_back_to_the_consent_page(cast: Cast) -> None:
    browser, url = Client(), OAuthClient().authorize_url()
    form = {"login": cast.member.email, "password": PASSWORD}

    answer = browser.post(browser.get(url)["Location"], form)

    assert answer["Location"] == url
    assert browser.get(url).status_code == 200


def test_a_fresh_sign_in_is_enough_to_write_and_reading_needs_none(cast: Cast) -> None:
    read = {"decision": "allow", "account": "acme", "access": "read"}
    assert "code" in answer_of(signed_in(cast.member).post(OAuthClient().authorize_url(), read))

    browser, url = Client(), OAuthClient().authorize_url()
    browser.post(browser.get(url)["Location"], {"login": cast.member.email, "password": PASSWORD})
    assert "code" in answer_of(browser.post(url, {**read, "access": "read_write"}))


def test_writing_needs_the_password_again_later_and_what_was_chosen_is_kept(cast: Cast) -> None:
    browser, client = Client(), OAuthClient()
    browser.post("/auth/login/", {"login": cast.both.email, "password": PASSWORD})
    session = browser.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 901
    session.save()
    url = client.authorize_url()
    form = {"decision": "allow", "account": "elsewhere", "access": "read_write"}
    Membership.objects.filter(account=cast.other_account, user=cast.both).update(role="member")

    reauthentication_url = browser.post(url, form)["Location"]
    assert reauthentication_url.startswith("/auth/reauthenticate/")
    assert browser.post(reauthentication_url, {"password": "wrong"}).status_code == 200
    assert browser.post(url, form)["Location"] == reauthentication_url
    assert browser.post(reauthentication_url, {"password": PASSWORD})["Location"] == url

    back = browser.get(url).context["form"]
    assert (back["account"].value(), back["access"].value()) == ("elsewhere", "read_write")
    assert not OAuthConnection.objects.unscoped().exists()
    assert browser.get(url).context["form"]["access"].value() == "read"
    code = answer_of(browser.post(url, form))["code"]
    assert tokens_of(client.exchange(code)).scope == "mcp:read mcp:write"


def test_an_account_made_meanwhile_can_be_chosen(cast: Cast) -> None:
    create_account(name="Third", owner=cast.member, slug="third")

    assert (
        OAuthClient().connect(cast.member, account="third", access="read_write").scope == "mcp:read mcp:write"
    )

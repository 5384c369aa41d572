"""The text of the consent page, and the cases without a consent."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accounts.models import User
from tests.accounts.oauth.flow import CALLBACK, OAuthClient
from tests.cast import Cast, signed_in

CLAUDE = "https://claude.ai/oauth/mcp-oauth-client-metadata"
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"
HEADING = re.compile(r'<span class="consent-host">([^<]*)</span>')


def page_for(user: User, client: OAuthClient, **changes: Any) -> str:
    answer = signed_in(user).get(client.authorize_url(**changes))
    assert answer.status_code == 200
    return answer.content.decode()


def heading(page: str) -> str:
    (title,) = HEADING.findall(page)
    return str(title)


def input_values(page: str, name: str) -> list[str]:
    controls = re.findall(r"<input[^>]*>", page)
    return [
        match[1]
        for control in controls
        if f'name="{name}"' in control and (match := re.search(r'value="([^"]*)"', control))
    ]


def test_a_client_with_a_document_is_called_by_its_host(cast: Cast) -> None:
    client = OAuthClient(CLAUDE, redirect_uri="https://claude.ai/api/mcp/auth_callback")

    page = page_for(cast.member, client)

    assert heading(page) == "claude.ai"
    assert "Name: Claude" in page
    assert CLAUDE in page
    assert "https://claude.ai/api/mcp/auth_callback" in page
    assert "Did you just start this connection?" not in page


def test_a_client_that_registered_is_called_by_where_it_is_sent_back_to(cast: Cast) -> None:
    client = OAuthClient(redirect_uri="https://evil.example/cb", client_name="Claude")

    page = page_for(cast.member, client)

    assert heading(page) == "evil.example"
    assert "Unverified name: Claude" in page


def test_a_program_on_this_computer_is_called_that_and_warned_of(cast: Cast) -> None:
    page = page_for(cast.member, OAuthClient(client_name="Claude Code"))

    assert heading(page) == "A program on your device"
    assert "Did you just start this connection?" in page
    assert CALLBACK in page


def test_a_document_does_not_take_the_warning_from_a_local_callback(cast: Cast) -> None:
    page = page_for(cast.member, OAuthClient(CLAUDE_CODE, redirect_uri="http://localhost:5555/callback"))

    assert heading(page) == "claude.ai"
    assert "Did you just start this connection?" in page


def test_the_host_of_a_custom_scheme_uri_is_no_host(cast: Cast) -> None:
    client = OAuthClient(redirect_uri="cursor://claude.ai/oauth/callback", client_name="Cursor")

    page = page_for(cast.member, client)

    assert heading(page) == "A program on your device"
    assert "Did you just start this connection?" in page
    assert "cursor://claude.ai/oauth/callback" in page


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "app.localhost:3000",
        "127.0.0.1:8443",
        "127.8.8.8",
        "[::1]:8443",
    ],
)
def test_an_https_callback_on_the_own_device_is_no_host_either(cast: Cast, host: str) -> None:
    page = page_for(cast.member, OAuthClient(redirect_uri=f"https://{host}/cb"))

    assert heading(page) == "A program on your device"
    assert "Did you just start this connection?" in page


def test_a_name_is_text_and_nothing_else(cast: Cast) -> None:
    page = page_for(cast.member, OAuthClient(client_name='<img src="https://evil.example/x">'))

    assert "<img" not in page


def test_no_file_of_another_site_is_fetched(cast: Cast) -> None:
    client = OAuthClient(
        redirect_uri="https://evil.example/cb",
        logo_uri="https://evil.example/logo.png",
        client_uri="https://evil.example/",
    )

    page = page_for(cast.member, client)

    fetched = re.findall(r'(?:src|href)="([^"#][^"]*)"', page)
    assert [address for address in fetched if not address.startswith("/")] == []
    assert "logo.png" not in page


def test_reading_is_chosen_and_writing_is_explained(cast: Cast) -> None:
    page = page_for(cast.member, OAuthClient())

    assert input_values(page, "access") == ["read", "read_write"]
    assert re.findall(r'value="(\w+)"\s+checked', page) == ["read"]
    for right in (
        "create budgets and alert subscriptions",
        "create, change and delete dashboards",
        "in your name",
    ):
        assert right in " ".join(page.split())


def test_permissions_that_were_not_requested_are_not_offered(cast: Cast) -> None:
    page = page_for(cast.member, OAuthClient(), scope="mcp:read")

    assert input_values(page, "access") == ["read"]
    assert "Write access was not requested." in page


def test_a_viewer_sees_why_she_cannot_grant_write_access(cast: Cast) -> None:
    page = page_for(cast.viewer, OAuthClient())

    assert input_values(page, "access") == ["read"]
    assert (
        "It also requested write access. Viewers cannot grant it. Ask an admin for the "
        "role Member, then connect again."
    ) in page


def test_a_person_in_two_accounts_chooses_one(cast: Cast) -> None:
    page = page_for(cast.both, OAuthClient())

    assert input_values(page, "account") == ["acme", "elsewhere"]
    assert page.count("data-reads-only=") == 1


def test_a_person_without_account_learns_what_to_do_and_may_decline(cast: Cast) -> None:
    nobody = User.objects.create_user("nobody@example.com", "a long enough secret")
    client = OAuthClient()

    page = page_for(nobody, client)
    allowed = client.consent(nobody)

    assert "You have no account to connect yet" in page
    assert "to invite <strong>nobody@example.com</strong>" in " ".join(page.split())
    assert re.findall(r'name="decision"\s+value="(\w+)"', page) == ["deny"]
    assert allowed.status_code == 422


def test_making_an_account_leads_back_to_consent(cast: Cast) -> None:
    nobody = User.objects.create_user("nobody@example.com", "a long enough secret")
    url = OAuthClient().authorize_url()
    browser = signed_in(nobody)
    (link,) = re.findall(r'href="(/accounts/new/[^"]*)"', browser.get(url).content.decode())

    answer = browser.post(link, {"name": "Newcomers"})

    assert answer["Location"] == url
    assert "Newcomers" in browser.get(url).content.decode()


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_making_an_account_leads_to_no_other_site(cast: Cast, elsewhere: str) -> None:
    answer = signed_in(cast.stranger).post(f"/accounts/new/?next={elsewhere}", {"name": "Another"})

    assert answer["Location"] == "/a/another/connections/"


def test_she_sees_who_she_is_and_can_sign_in_as_another_person(cast: Cast) -> None:
    client = OAuthClient()
    url = client.authorize_url()
    browser = signed_in(cast.viewer)

    page = browser.get(url).content.decode()
    after = browser.post("/auth/logout/", {"next": url})

    assert "Signed in as <strong>viewer@example.com</strong>" in page
    assert after["Location"] == url
    assert browser.get(url)["Location"].startswith("/auth/login/?next=/oauth/authorize")


def test_an_unknown_client_gets_a_page_that_says_what_to_do(cast: Cast) -> None:
    answer = signed_in(cast.member).get(OAuthClient("nobody").authorize_url())

    page = answer.content.decode()
    assert answer.status_code == 400
    assert "remove this server and add it again" in page
    assert "The program that sent you here is not registered." in page
    assert "Invalid client_id parameter value." in page
    assert "/oauth/register" in page


def test_a_callback_that_is_not_the_clients_is_never_opened(cast: Cast) -> None:
    answer = signed_in(cast.member).get(OAuthClient().authorize_url(redirect_uri="https://evil.example/cb"))

    assert answer.status_code == 400
    assert "registered, but with another return address." in answer.content.decode()
    assert "Mismatching redirect URI." in answer.content.decode()
    assert "evil.example" not in answer.content.decode()

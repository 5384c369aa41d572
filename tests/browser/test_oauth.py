"""Connecting an assistant as a person does it: from a signed-out browser to an answer, and disconnecting it again."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.cast import PASSWORD
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

APPS = "/a/acme/settings/connected-apps/"


@dataclasses.dataclass
class App:
    """A program on the person's computer: it registers, listens on loopback, and asks the console."""

    server: LiveServer
    callback: str
    answers: list[dict[str, str]]
    name: str = "Claude Code"
    verifier: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(48))
    state: str = dataclasses.field(default_factory=secrets.token_urlsafe)
    client_id: str = ""

    def authorize_url(self, **changes: str) -> str:
        if not self.client_id:
            client_metadata = {"client_name": self.name, "redirect_uris": [self.callback]}
            answer = httpx.post(f"{self.server.url}/oauth/register", json=client_metadata, timeout=30)
            self.client_id = answer.json()["client_id"]
        digest = hashlib.sha256(self.verifier.encode()).digest()
        params = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.callback,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": self.server.mcp_url,
            "scope": "mcp:read mcp:write",
            **changes,
        }
        return f"/oauth/authorize?{urlencode(params)}"

    def token(self) -> str:
        answer = httpx.post(
            f"{self.server.url}/oauth/token",
            data={
                "grant_type": "authorization_code",
                "client_id": self.client_id,
                "code": self.answers[-1]["code"],
                "redirect_uri": self.callback,
                "code_verifier": self.verifier,
                "resource": self.server.mcp_url,
            },
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])

    def ask(self, token: str) -> httpx.Response:
        call = {"name": "getAccountContext", "arguments": {}}
        return httpx.post(
            self.server.mcp_url,
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            headers={
                "Authorization": f"Bearer {token}",
                "MCP-Protocol-Version": "2025-11-25",
                "User-Agent": "claude-code/2",
            },
            timeout=30,
        )


@pytest.fixture
def app(console: LiveServer) -> Iterator[App]:
    answers: list[dict[str, str]] = []

    class Callback(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path == "/callback":
                answers.append(dict(parse_qsl(url.query)))
            body = b"<!DOCTYPE html><title>Back</title><link rel=icon href=data:,><h1>Back in the app</h1>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_said: Any) -> None:
            """Nothing is said: the tests look at the answers."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Callback) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield App(console, f"http://127.0.0.1:{listener.server_port}/callback", answers)
        listener.shutdown()
        thread.join()


def sign_in_on_the_way(page: Page, name: str) -> None:
    page.get_by_label("Email").fill(f"{name}@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="wants to connect")).to_be_visible()


def back_in_the_app(page: Page) -> None:
    expect(page.get_by_role("heading", name="Back in the app")).to_be_visible()


def test_from_a_signed_out_browser_to_an_answer_and_back(
    console: LiveServer, new_page: NewPage, app: App
) -> None:
    page = new_page()
    page.goto(app.authorize_url())
    sign_in_on_the_way(page, "member")
    expect(page.get_by_text("Unverified name: Claude Code")).to_be_visible()
    expect(page.get_by_text("Did you just start this connection?")).to_be_visible()
    expect(page.get_by_text(app.callback)).to_be_visible()
    expect(page.get_by_role("radio", name="Read only")).to_be_checked()

    page.get_by_role("button", name="Allow").click()
    back_in_the_app(page)
    (answer,) = app.answers
    assert (answer["state"], answer["iss"]) == (app.state, console.url)
    assert set(answer) == {"code", "state", "iss"}
    token = app.token()

    response = app.ask(token)
    assert response.json()["result"]["structuredContent"]["account"]["slug"] == "acme"

    page.goto(APPS)
    row = page.get_by_role("row", name=re.compile("“Claude Code”"))
    expect(row).to_contain_text("just now")
    expect(row).to_contain_text("claude-code/2")
    expect(row).to_contain_text("Connected")
    row.get_by_role("button", name=re.compile("^Disconnect")).click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    expect(page.get_by_text("App disconnected.")).to_be_visible()
    expect(page.get_by_text("Connect your assistant")).to_be_visible()

    refusal = app.ask(token)
    assert refusal.status_code == 401
    assert 'error="invalid_token"' in refusal.headers["WWW-Authenticate"]


def test_a_person_who_denies_is_sent_back_with_her_answer(
    console: LiveServer, new_page: NewPage, app: App
) -> None:
    page = new_page("viewer")
    page.goto(app.authorize_url())

    page.get_by_role("button", name="Deny").click()
    back_in_the_app(page)

    (answer,) = app.answers
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", app.state, console.url)
    assert "code" not in answer


def test_a_newcomer_signs_up_and_creates_an_account(new_page: NewPage, app: App) -> None:
    page = new_page()
    page.goto(app.authorize_url())
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("Email").fill("newcomer@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", name="You have no account to connect yet")).to_be_visible()

    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Account name").fill("Newcomers")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("Your role: Owner")).to_be_visible()
    page.get_by_role("button", name="Allow").click()
    back_in_the_app(page)

    response = app.ask(app.token())
    assert response.json()["result"]["structuredContent"]["account"]["name"] == "Newcomers"


def test_the_keyboard_alone_gives_read_and_write(new_page: NewPage, app: App) -> None:
    page = new_page("owner")
    page.goto(app.authorize_url())

    page.get_by_role("radio", name="Read only").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Read and write")).to_be_checked()
    if page.get_by_label("Cost access").is_visible():  # an account with limits has them to choose from
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    allow = page.get_by_role("button", name="Allow")
    expect(allow).to_be_focused()
    expect(allow).to_be_enabled()
    page.keyboard.press("Enter")
    back_in_the_app(page)

    app.token()
    page.goto(APPS)
    expect(page.get_by_role("row", name=re.compile("Read.write"))).to_be_visible()


def test_writing_is_no_choice_for_an_account_that_a_person_may_only_read(new_page: NewPage, app: App) -> None:
    page = new_page("both")
    page.goto(app.authorize_url())
    write = page.get_by_role("radio", name="Read and write")
    page.get_by_role("radio", name="Acme").check()
    write.check()

    page.get_by_role("radio", name="Elsewhere").check()

    expect(write).to_be_disabled()
    expect(page.get_by_role("radio", name="Read only")).to_be_checked()
    expect(page.get_by_text("You are a viewer of Elsewhere and can grant read access only.")).to_be_visible()
    page.get_by_role("radio", name="Acme").check()
    expect(write).to_be_enabled()


def test_a_click_meant_for_a_window_that_just_closed_allows_nothing(new_page: NewPage, app: App) -> None:
    page = new_page("member")
    page.goto(app.authorize_url())
    allow = page.get_by_role("button", name="Allow")
    expect(allow).to_be_enabled()

    page.evaluate("""() => {
      dispatchEvent(new Event("focus"));
      document.querySelector('[value="allow"]').click();
    }""")

    expect(allow).to_be_enabled()
    assert app.answers == []


def test_an_app_with_a_scheme_of_its_own_gets_its_answer(
    console: LiveServer, new_page: NewPage, app: App
) -> None:
    app.callback, app.name = "cursor://anysphere.cursor-mcp/oauth/callback", "Cursor"
    page = new_page("member")
    page.goto(app.authorize_url())
    expect(page.get_by_role("heading", name="A program on your device")).to_be_visible()
    allow = page.get_by_role("button", name="Allow")
    expect(allow).to_be_enabled()

    with page.expect_response(re.compile("/oauth/authorize")) as response:
        allow.click()

    assert response.value.status == 302
    assert response.value.headers["location"].startswith(f"{app.callback}?code=")
    expect(page.get_by_text("Done. Return to the program and close this page.")).to_be_visible()


def test_somebody_else_can_sign_in_instead(new_page: NewPage, app: App) -> None:
    page = new_page("viewer")
    page.goto(app.authorize_url())
    expect(
        page.get_by_text(
            "It also requested write access. Viewers cannot grant it. Ask an "
            "admin for the role Member, then connect again."
        )
    ).to_be_visible()

    page.get_by_role("button", name="Not you? Switch").click()
    sign_in_on_the_way(page, "member")

    expect(page.get_by_text("member@example.com")).to_be_visible()
    expect(page.get_by_role("radio", name="Read and write")).to_be_enabled()


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), *also_long((390, "light"), (1280, "light"))])
def test_consent_and_its_errors_fit_and_are_named(
    new_page: NewPage, app: App, width: int, theme: str
) -> None:
    app.name = "An assistant with a name as long as its makers could make it, and longer still"
    page = new_page("both", width=width, theme=theme)
    faults_by_path = {}
    for path in (app.authorize_url(), app.authorize_url(scope="mcp:read")):
        page.goto(path)
        if faults := [*page.evaluate(FAULTS), *[f"{over} too wide" for over in [overflow(page)] if over]]:
            faults_by_path[path] = faults
    assert faults_by_path == {}

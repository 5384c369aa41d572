"""The view of MCP Apps in hosts that others wrote, from npm: the AI SDK's, which has a bridge of its own, and MCP-UI's.

Neither names the tool of an answer to the view, and both load it through a proxy on another origin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect

from tests.browser.conftest import SECONDS, is_problem
from tests.browser.mcp_app_client import CALLS, FOLDER, McpClient, bundle, client_of, result_of, view_of
from tests.servers import LiveServer
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser-mcp-app")]

HOST, SANDBOX = "http://host.test/", "http://sandbox.test/"
PAGE = "<!doctype html><title>Host</title><body></body>"
INLINE_HEIGHT = 500
AI_SDK, MCP_UI = "ai_sdk.js", "mcp_ui.js"
SCRIPTS = (AI_SDK, MCP_UI)

EARLY_CONTEXT = "Not connected"
"""MCP-UI tells its bridge the context before it is connected, which the bridge refuses; the view gets it by the handshake."""

each_host = pytest.mark.parametrize("script", SCRIPTS)


class Host:
    """A page that shows the view for one answer."""

    def __init__(self, page: Page, client: McpClient, html: str) -> None:
        self.page, self.client, self.html = page, client, html
        self.opened: list[str] = []
        self.heights: list[float] = []

    def load(self, script: str) -> None:
        self.page.expose_function("callTool", self.client.call)
        self.page.expose_function("opened", lambda url: self.opened.append(url))
        self.page.expose_function("resized", lambda height: self.heights.append(height))
        self.page.route(f"{HOST}**", lambda route: _html(route, PAGE))
        self.page.route(f"{SANDBOX}**", lambda route: _html(route, (FOLDER / "sandbox.html").read_text()))
        self.page.goto(HOST)
        self.page.evaluate(f"window.SANDBOX = '{SANDBOX}'")
        self.page.add_script_tag(content=script)

    def show(self, tool: str, arguments: dict[str, Any], **context: Any) -> FrameLocator:
        app = {
            "html": self.html,
            "tool": tool,
            "args": arguments,
            "result": result_of(self.client, tool, arguments),
            "context": {"displayMode": "inline", **context},
            "capabilities": {"serverTools": {}, "openLinks": {}},
        }
        self.page.evaluate("(app) => { window.showApp(app) }", app)
        frame = self.page.frame_locator("iframe").frame_locator("iframe")
        expect(frame.locator("h1, .summary")).to_be_visible()
        return frame


def _html(route: Route, body: str) -> None:
    route.fulfill(status=200, content_type="text/html", body=body)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("hosts")
    return {script: bundle(script, folder) for script in SCRIPTS}


@pytest.fixture(scope="module")
def client(console: LiveServer) -> McpClient:
    return client_of(console)


@pytest.fixture(scope="module")
def html(client: McpClient) -> str:
    return view_of(client)


@pytest.fixture
def host(
    browser: Browser, client: McpClient, html: str, scripts: dict[str, str], script: str
) -> Iterator[Host]:
    problems: list[str] = []
    with browser.new_context(viewport={"width": 720, "height": 900}, reduced_motion="reduce") as context:
        context.set_default_timeout(SECONDS * 1000)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if is_problem(message) else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        host = Host(page, client, html)
        host.load(scripts[script])
        yield host
    assert [problem for problem in problems if script != MCP_UI or problem != EARLY_CONTEXT] == []


@each_host
@pytest.mark.parametrize("tool", CALLS)
def test_every_answer_is_drawn(host: Host, tool: str, script: str) -> None:
    frame = host.show(tool, CALLS[tool], theme="dark" if script == AI_SDK else "light")

    expect(frame.locator("svg[role=img]")).to_be_visible()
    frame.get_by_role("button", name="View data").click()
    expect(frame.get_by_role("table")).to_be_visible()
    assert 0 < max(host.heights) <= INLINE_HEIGHT
    inner = host.page.frames[-1]
    wait_until(lambda: inner.evaluate("document.documentElement.scrollHeight <= window.innerHeight + 1"))
    assert inner.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@each_host
def test_a_person_asks_again_by_the_hosts_tool_call(host: Host, script: str) -> None:
    frame = host.show("querySpend", CALLS["querySpend"])
    host.client.calls.clear()

    frame.get_by_label("Group by").select_option("region")
    expect(frame.get_by_role("button", name="Back")).to_be_visible()

    (call,) = host.client.calls
    assert (call["name"], call["arguments"]) == (
        "querySpend",
        {**CALLS["querySpend"], "group_by": ["region"]},
    )


@each_host
def test_the_page_of_the_console_opens_where_the_host_says_that_it_opens_links(
    host: Host, script: str
) -> None:
    """The AI SDK's host opens links without saying so."""
    frame = host.show("querySpend", CALLS["querySpend"])
    button = frame.get_by_role("button", name="Open in console")

    if script == AI_SDK:
        expect(frame.get_by_role("button", name="View data")).to_be_visible()
        expect(button).to_have_count(0)
        return
    button.click()
    expect(button).to_be_enabled()
    assert ["/a/acme/cost-explorer/" in url for url in host.opened] == [True]

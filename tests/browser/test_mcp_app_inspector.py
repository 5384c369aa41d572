"""The view of MCP Apps in MCP Inspector, a whole host: it finds the view by the tools, reads it, makes its policy and sandbox,
and calls the tools itself."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect

from tests.browser.conftest import SECONDS, is_problem
from tests.browser.mcp_app_client import CALLS, McpClient, client_of
from tests.conformance import node
from tests.servers import LiveServer, free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser-mcp-app")]

REVISIONS = {"legacy": "MCP 2025-11-25", "modern": "MCP 2026-07-28"}
FORBIDDEN = {"default-src", "connect-src", "img-src", "font-src", "frame-src", "form-action"}


class Inspector:
    """A page of MCP Inspector that is connected to the console."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, title: str) -> FrameLocator:
        """The view that it shows for a call of a tool without arguments."""
        self.page.get_by_role("button", name=title).click()
        self.page.get_by_test_id("open-app").click()
        frame = self.page.frame_locator("iframe").frame_locator("iframe")
        expect(frame.locator("h1")).to_be_visible()
        return frame

    def is_within_its_frame(self) -> bool:
        fits = "document.documentElement.scrollHeight <= innerHeight + 1 && document.body.scrollWidth <= innerWidth"
        return bool(self.page.frames[-1].evaluate(fits))

    def policy(self) -> dict[str, str]:
        content = self.page.frames[-1].locator("meta[http-equiv]").get_attribute("content") or ""
        directives = [directive.split(maxsplit=1) for directive in content.split(";")]
        return dict(directives)


@pytest.fixture(scope="module")
def client(console: LiveServer) -> McpClient:
    return client_of(console)


@pytest.fixture(scope="module", params=REVISIONS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def address(client: McpClient, era: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of an Inspector that has the server and its key from its command line."""
    home = tmp_path_factory.mktemp("inspector")
    port, sandbox, apps = (str(free_port()) for _ in range(3))
    options = ["--web", "--server-url", client.url, "--transport", "http", "--protocol-era", era]
    environment = {
        **node.environment(home),
        "CLIENT_PORT": port,
        "DANGEROUSLY_OMIT_AUTH": "true",
        "MCP_APP_ORIGIN_PORT": apps,
        "MCP_AUTO_OPEN_ENABLED": "false",
        "MCP_INSPECTOR_SECRET_STORE": "memory",
        "MCP_SANDBOX_PORT": sandbox,
    }
    log = home / "inspector.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            node.command(node.INSPECTOR, *options, "--header", f"Authorization: Bearer {client.key}"),
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_until(lambda: _answers(url), log.read_text, pause=0.2)
        yield url
    finally:
        process.terminate()
        process.wait(SECONDS)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=SECONDS).is_success
    except httpx.ConnectError:
        return False


@pytest.fixture
def inspector(browser: Browser, address: str, era: str) -> Iterator[Inspector]:
    problems: list[str] = []
    with browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce") as context:
        context.set_default_timeout(SECONDS * 1000)
        context.route(lambda url: urlsplit(url).hostname != "127.0.0.1", _nothing)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if is_problem(message) else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(address)
        # Its track covers it. check() would look at its state at once, and it changes when the server has answered.
        page.get_by_role("switch").click(force=True)
        expect(page.get_by_text(REVISIONS[era])).to_be_visible()
        page.get_by_text("Apps", exact=True).click()
        page.get_by_role("button", name="Close monitoring sidebar").click()
        yield Inspector(page)
    assert problems == []


def _nothing(route: Route) -> None:
    """In place of fonts that its page takes from the Internet."""
    route.fulfill(status=200, content_type="text/css", body="")


def test_the_inspector_finds_the_tools_that_have_a_view(inspector: Inspector) -> None:
    expect(inspector.page.get_by_text(f"MCP Apps ({len(CALLS)})")).to_be_visible()


@pytest.mark.parametrize("title", ["Explain a change of spend", "Forecast spend", "List budgets"])
def test_an_answer_is_drawn_under_its_policy(inspector: Inspector, title: str) -> None:
    frame = inspector.open(title)

    expect(frame.locator("svg[role=img]")).to_be_visible()
    frame.get_by_role("button", name="View data").click()
    expect(frame.get_by_role("table")).to_be_visible()
    wait_until(inspector.is_within_its_frame)
    policy = inspector.policy()
    assert {name for name, sources in policy.items() if sources == "'none'"} >= FORBIDDEN


def test_a_person_groups_a_total_and_opens_it_in_the_console(inspector: Inspector) -> None:
    frame = inspector.open("Query spend")
    expect(frame.get_by_label("Group by")).to_have_value("")
    expect(frame.get_by_label("Days")).to_have_value("last_30_days")
    expect(frame.get_by_role("table")).to_have_count(0)

    frame.get_by_label("Group by").select_option("service")
    expect(frame.locator("svg[role=img]")).to_be_visible()
    frame.get_by_role("button", name="Full screen").click()
    expect(frame.get_by_role("button", name="Full screen")).to_have_count(0)
    with inspector.page.expect_popup() as popup:
        frame.get_by_role("button", name="Open in console").click()

    assert "group_by%3Dservice" in popup.value.url


def test_the_grouping_that_the_server_chose_is_the_one_that_is_shown(inspector: Inspector) -> None:
    grouping = inspector.open("Explain a change of spend").get_by_label("Group by")

    expect(grouping).to_have_value("service")
    assert "None" not in grouping.locator("option").all_inner_texts()


def test_the_view_takes_the_colors_of_the_host(inspector: Inspector) -> None:
    body = inspector.open("List budgets").locator("body")
    light = body.evaluate("element => getComputedStyle(element).backgroundColor")

    inspector.page.get_by_role("button", name="Toggle color scheme").click()

    expect(body).not_to_have_css("background-color", light)
    expect(inspector.page.frame_locator("iframe").frame_locator("iframe").locator("html")).to_have_attribute(
        "data-theme", "dark"
    )

"""The view of MCP Apps in chromium, in a sandboxed frame under the policy of hosts, with the SDK's own host side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from finops.staticfiles import MCP_VIEW
from tests.browser.conftest import SECONDS, is_problem
from tests.browser.mcp_app_client import CALLS, McpClient, bundle, client_of, result_of, view_of
from tests.servers import LiveServer
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser-mcp-app")]

VIEW = Path("node_modules") / MCP_VIEW
MAX_BYTES = 400_000
INLINE_HEIGHT = 500
CAPABILITIES: dict[str, Any] = {"serverTools": {}, "openLinks": {}}
MODES = {"availableDisplayModes": ["inline", "fullscreen"]}
AXE = Path("node_modules/axe-core/axe.min.js")


@pytest.fixture(scope="module")
def host_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    return bundle("host.js", tmp_path_factory.mktemp("host"))


class Host:
    """A page that shows the view for one answer."""

    def __init__(self, page: Page, client: McpClient, html: str) -> None:
        self.page, self.client, self.html = page, client, html
        self.opened: list[str] = []
        self.heights: list[float] = []
        page.expose_function("callTool", client.call)
        page.expose_function("opened", lambda url: self.opened.append(url))
        page.expose_function("resized", lambda height: self.heights.append(height))

    def show(self, tool: str, arguments: dict[str, Any], **context: Any) -> FrameLocator:
        self.page.evaluate(
            "(app) => window.showApp(app)",
            {
                "html": self.html,
                "tool": tool,
                "args": arguments,
                "result": result_of(self.client, tool, arguments),
                "context": {**MODES, **context},
                "capabilities": CAPABILITIES,
            },
        )
        frame = self.page.frame_locator("iframe")
        expect(frame.locator("h1, .summary")).to_be_visible()
        return frame


@pytest.fixture(scope="module")
def client(console: LiveServer) -> McpClient:
    return client_of(console)


@pytest.fixture(scope="module")
def html(client: McpClient) -> str:
    return view_of(client)


@pytest.fixture
def host(browser: Browser, client: McpClient, html: str, host_script: str) -> Iterator[Host]:
    problems: list[str] = []
    with browser.new_context(viewport={"width": 720, "height": 900}, reduced_motion="reduce") as context:
        context.set_default_timeout(SECONDS * 1000)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if is_problem(message) else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.set_content(
            "<!doctype html><title>Host</title><style>iframe{width:100%;border:0}</style><body></body>"
        )
        page.add_script_tag(content=host_script)
        yield Host(page, client, html)
    assert problems == []


def test_the_view_is_small_and_loads_nothing() -> None:
    html = VIEW.read_text()
    assert len(html.encode()) < MAX_BYTES
    assert "https://" not in html.replace("https://json-schema.org", "")
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_answer_is_drawn_within_its_frame(host: Host, tool: str, theme: str) -> None:
    frame = host.show(tool, CALLS[tool], theme=theme, locale="de-DE")

    expect(frame.locator("svg[role=img]")).to_be_visible()
    assert 0 < max(host.heights) <= INLINE_HEIGHT
    inner = host.page.frames[-1]
    assert inner.evaluate("document.documentElement.scrollHeight <= window.innerHeight + 1")
    assert inner.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert _violations(host) == []
    frame.get_by_role("button", name="View data").click()
    expect(frame.get_by_role("table")).to_be_visible()
    assert _violations(host) == []
    assert max(host.heights) <= INLINE_HEIGHT
    wait_until(lambda: inner.evaluate("document.documentElement.scrollHeight <= window.innerHeight + 1"))


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("width", [320, 390])
def test_every_answer_fits_a_conversation_on_a_phone(host: Host, tool: str, width: int) -> None:
    host.page.set_viewport_size({"width": width, "height": 800})
    frame = host.show(tool, CALLS[tool])

    for name in ("View data", "View chart"):
        wait_until(lambda: _fits(host), name)
        assert max(host.heights) <= INLINE_HEIGHT
        frame.get_by_role("button", name=name).click()
        assert _broken_words(host) == []
    wait_until(lambda: _fits(host))


def _broken_words(host: Host) -> list[str]:
    """Return figures and column titles without spaces that take more than one line."""
    script = """() => {
      const lines = (each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size;
      };
      const texts = [...document.querySelectorAll("tbody td span, table:not(.cards) thead th")];
      return texts.map((each) => [each.textContent, lines(each)])
        .filter(([text, count]) => !text.includes(" ") && count > 1);
    }"""
    broken: list[str] = host.page.frames[-1].evaluate(script)
    return broken


@pytest.mark.parametrize(("width", "display"), [(320, "grid"), (390, "grid"), (768, "table-row")])
def test_rows_with_many_figures_are_blocks_on_a_phone(host: Host, width: int, display: str) -> None:
    """Each figure then has its column before it; for screen readers it is the same table."""
    host.page.set_viewport_size({"width": width, "height": 800})
    frame = host.show("listAnomalies", {}, locale="en-US")
    frame.get_by_role("button", name="View data").click()

    row = frame.get_by_role("row").nth(1)
    expect(row).to_have_css("display", display)
    headers = frame.get_by_role("columnheader").all_inner_texts()
    assert headers == ["Anomaly", "Impact", "Actual", "Expected", "Days"]
    assert row.get_by_role("rowheader").count() == 1
    assert row.get_by_role("cell").count() == 4
    snapshot = frame.get_by_role("table").aria_snapshot()
    assert "Impact -$" not in snapshot  # the title of a column is read once, as its header
    assert _violations(host) == []
    wait_until(lambda: _fits(host))


def test_a_block_drills_down_by_the_keyboard(host: Host) -> None:
    host.page.set_viewport_size({"width": 320, "height": 800})
    frame = host.show("explainSpendChange", CALLS["explainSpendChange"])
    frame.get_by_role("button", name="View data").press("Enter")
    expect(frame.get_by_role("row").nth(1)).to_have_css("display", "grid")

    frame.locator("table button").first.press("Enter")

    expect(frame.locator("header + p")).to_contain_text("Service:")


def _fits(host: Host) -> bool:
    """Whether nothing scrolls within the view."""
    element = "document.documentElement"
    sizes = f"{element}.scrollHeight <= innerHeight + 1 && {element}.scrollWidth <= innerWidth"
    return bool(host.page.frames[-1].evaluate(sizes))


def test_the_view_keeps_to_the_height_and_the_margins_of_the_host(host: Host) -> None:
    context = {"containerDimensions": {"maxHeight": 380}, "safeAreaInsets": {"top": 0, "bottom": 40}}
    frame = host.show("querySpend", CALLS["querySpend"], **context)

    expect(frame.locator("svg[role=img]")).to_be_visible()
    assert 0 < max(host.heights) <= context["containerDimensions"]["maxHeight"]
    expect(frame.locator("body")).to_have_css("padding-bottom", "52px")


def _violations(host: Host) -> list[str]:
    frame = host.page.frames[-1]
    if not frame.evaluate("typeof window.axe !== 'undefined'"):
        frame.evaluate(AXE.read_text())
    report = frame.evaluate("axe.run(document, { rules: { region: { enabled: false } } })")
    return [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in report["violations"]]


def test_a_person_asks_again_by_the_hosts_tool_call(host: Host) -> None:
    frame = host.show("querySpend", CALLS["querySpend"])
    host.client.calls.clear()

    frame.get_by_label("Group by").select_option("region")
    expect(frame.get_by_role("button", name="Back")).to_be_visible()
    frame.get_by_label("Days").select_option("last_7_days")
    expect(frame.get_by_label("Days")).to_have_value("last_7_days")

    assert [call["arguments"] for call in host.client.calls] == [
        {**CALLS["querySpend"], "group_by": ["region"]},
        {**CALLS["querySpend"], "group_by": ["region"], "period": "last_7_days"},
    ]


def test_the_keyboard_alone_drills_down_to_a_part_and_back(host: Host) -> None:
    frame = host.show("querySpend", {"period": "last_30_days", "group_by": ["service"]})
    frame.get_by_role("button", name="View data").press("Enter")
    before = frame.locator(".value").inner_text()
    host.client.calls.clear()

    frame.locator("table button").first.press("Enter")
    expect(frame.locator("header + p")).to_contain_text("Service:")
    (call,) = host.client.calls
    (filter_,) = call["arguments"]["filters"]
    expect(frame.locator(".value")).not_to_have_text(before)
    frame.get_by_role("button", name="Back").press("Enter")

    expect(frame.locator(".value")).to_have_text(before)
    assert (filter_["dimension"], filter_["op"]) == ("service", "in")
    assert call["arguments"]["group_by"] == ["account"]


def test_amounts_are_those_of_the_answer(host: Host) -> None:
    arguments = {"period": "last_30_days", "group_by": ["service"]}
    answer = host.client.ask("querySpend", arguments)["structuredContent"]
    frame = host.show("querySpend", arguments, locale="en-US")
    frame.get_by_role("button", name="View data").click()

    (total, *_more) = answer["totals"]
    assert frame.locator(".value").inner_text() == f"${total['amount']:,.2f}"
    rows = [row for row in answer["rows"] if row["currency"] == total["currency"]][:8]
    cells = frame.locator("tbody tr td:nth-of-type(1)").all_inner_texts()
    assert len(cells) >= len(rows) - 2  # a long warning takes the place of rows
    assert cells == [f"{'-' * (row['amount'] < 0)}${abs(row['amount']):,.2f}" for row in rows[: len(cells)]]


def test_a_refusal_is_shown_and_the_last_answer_stays(host: Host) -> None:
    frame = host.show("querySpend", {"period": "last_30_days", "group_by": ["service"]})
    host.page.evaluate(
        "window.bridge.oncalltool = async () => ({isError: true, content: [{type: 'text', text: 'Too many requests.'}]})"
    )

    frame.get_by_label("Group by").select_option("region")

    expect(frame.get_by_role("alert")).to_have_text("Too many requests.")
    expect(frame.locator("svg[role=img]")).to_be_visible()


def test_the_page_of_the_console_opens_through_the_host(host: Host) -> None:
    frame = host.show("querySpend", CALLS["querySpend"])

    frame.get_by_role("button", name="Open in console").click()
    frame.get_by_role("button", name="Full screen").click()
    expect(frame.get_by_role("button", name="Full screen")).to_have_count(0)

    assert len(host.opened) == 1
    assert "/a/acme/cost-explorer/" in host.opened[0]


def test_a_host_that_offers_nothing_gets_a_view_without_buttons(host: Host) -> None:
    host.page.evaluate(
        "(app) => window.showApp(app)",
        {
            "html": host.html,
            "tool": "querySpend",
            "args": {},
            "result": {
                "content": [
                    {
                        "type": "text",
                        "text": json.dumps(
                            host.client.ask("querySpend", CALLS["querySpend"])["structuredContent"]
                        ),
                    }
                ]
            },
            "context": {},
            "capabilities": {},
        },
    )
    frame = host.page.frame_locator("iframe")

    expect(frame.locator("svg[role=img]")).to_be_visible()
    assert frame.get_by_label("Currency").count() == frame.get_by_role("combobox").count() == 1
    assert frame.get_by_role("button").all_inner_texts() == ["View data"]

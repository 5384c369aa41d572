"""Real processes, and a real MCP client: what it asks is on the page a moment later, and an orderly end loses nothing."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from mcp import Client
from mcp.types import CallToolResult

from tests.conformance.test_sdk_client import run_session
from tests.servers import LiveServer, _granian, free_port
from tests.waiting import wait_until

# With the other tests of real clients, so that they share a server.
pytestmark = pytest.mark.xdist_group("mcp-clients")

NEVER = "3600"  # seconds until a process writes by itself


@dataclasses.dataclass
class LivePage:
    """A server, a key to ask it with, and the page in a browser."""

    server: LiveServer
    key: str
    browser: httpx.Client

    def listed_arguments(self) -> list[str]:
        """The arguments on the page's list, the newest first."""
        answer = self.browser.get("/a/watched/assistant-activity/?format=csv")
        assert answer.status_code == 200
        return [row["Arguments"] for row in csv.DictReader(io.StringIO(answer.text))]

    def ask(self, server: LiveServer, search: str) -> None:
        async def call(client: Client) -> CallToolResult:
            return await client.call_tool("listDimensionValues", {"dimension": "service", "search": search})

        assert not run_session(server.mcp_url, self.key, "auto", call).is_error


@pytest.fixture(scope="module")
def live_page(live_server_process: LiveServer) -> Iterator[LivePage]:
    credentials = live_server_process.run("tests.finops.activity.live:account")
    cookies = {settings.SESSION_COOKIE_NAME: credentials["session"]}
    with httpx.Client(base_url=live_server_process.url, cookies=cookies, timeout=60) as browser:
        yield LivePage(live_server_process, credentials["key"], browser)


def other_process(live_page: LivePage, seconds: str) -> LiveServer:
    """A second web process on the same data, not yet started."""
    port = free_port()
    environment = {**live_page.server.environment, "ACTIVITY_WRITE_SECONDS": seconds}
    return LiveServer(f"http://127.0.0.1:{port}", environment, Path(environment["VAR_DIR"]) / f"{port}.log")


def test_calls_of_a_client_appear_on_the_open_page(live_page: LivePage) -> None:
    live_page.ask(live_page.server, "alone")

    wait_until(lambda: any("alone" in text for text in live_page.listed_arguments()))


@pytest.mark.slow
def test_two_processes_write_what_each_was_asked_and_an_orderly_end_writes_the_rest(
    live_page: LivePage,
) -> None:
    other = other_process(live_page, NEVER)
    with _granian(other, int(other.url.rpartition(":")[2])):
        for number in range(3):
            live_page.ask(live_page.server, f"first {number}")
            live_page.ask(other, f"second {number}")
        wait_until(lambda: sum("first" in text for text in live_page.listed_arguments()) == 3)
        assert not any("second" in text for text in live_page.listed_arguments())

    assert sum("second" in text for text in live_page.listed_arguments()) == 3

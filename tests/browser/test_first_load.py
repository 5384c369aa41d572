"""What a browser with an empty cache is sent for a page: bytes over the wire, of the program as it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import SECONDS, sign_in
from tests.servers import LiveServer, serve_again

pytestmark = pytest.mark.browser
MAX_BYTES = 350_000
PAGES = ("", "cost-explorer/", "dashboards/1/", "unit-economics/")


@pytest.fixture(scope="module")
def product_server(console: LiveServer) -> Iterator[LiveServer]:
    """With the product's settings: hashed static files, compressed ahead. The program reads once which there are."""
    settings = {"DJANGO_SETTINGS_MODULE": "finops.settings"}
    product = LiveServer(console.url, {**console.environment, **settings}, console.log)
    product.manage("collectstatic", "--no-input", "--ignore=admin", "--verbosity=0")
    with serve_again(console, **settings) as server:
        yield server


@pytest.mark.parametrize("path", PAGES, ids=["overview", "explorer", "board", "unit economics"])
def test_a_page_with_charts_loads_little(
    browser: Browser, console: LiveServer, product_server: LiveServer, path: str
) -> None:
    sizes: dict[str, int] = {}
    names: dict[str, str] = {}
    encodings: dict[str, str] = {}
    validators: dict[str, set[str]] = {}

    def note(event: dict[str, Any]) -> None:
        name = event["response"]["url"].removeprefix(product_server.url)
        names[event["requestId"]] = name
        headers = {key.lower(): value for key, value in event["response"]["headers"].items()}
        encodings[name] = headers.get("content-encoding", "")
        validators[name] = headers.keys() & {"etag", "last-modified"}

    def add(event: dict[str, Any]) -> None:
        sizes[names[event["requestId"]]] = int(event["encodedDataLength"])

    with browser.new_context(base_url=product_server.url, viewport={"width": 1440, "height": 900}) as context:
        context.set_default_timeout(SECONDS * 1000)
        sign_in(context, console, "member")
        page = context.new_page()
        cdp = context.new_cdp_session(page)
        cdp.on("Network.responseReceived", note)
        cdp.on("Network.loadingFinished", add)
        cdp.send("Network.enable")
        page.goto(f"/a/acme/{path}")
        expect(page.locator("[data-drawn]").first).to_be_visible()
        page.wait_for_load_state("networkidle")

    [script] = [name for name in sizes if "echarts" in name]
    assert encodings[f"/a/acme/{path}"] == "gzip"
    assert encodings[script] == "br"
    assert validators[script] == set()  # a hashed file never changes
    assert sum(sizes.values()) < MAX_BYTES, sorted(sizes.items(), key=lambda each: -each[1])

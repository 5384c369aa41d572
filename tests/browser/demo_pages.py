"""`make pages`: every page of the demo account in five widths and two themes. A picture of each is stored in
`var/screenshots`.

The pages are found by following links from the overview, one for each URL pattern. `make test` checks all pages of a
smaller account instead (test_pages.py).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SECONDS
from tests.browser.layout import HEIGHT, LAYOUT_SHIFTS, MAX_LAYOUT_SHIFT, WIDTHS, layout_faults, layout_shift
from tests.browser.screenshots import sign_in
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_pages import FAULTS
from tests.servers import LiveServer, serve

pytestmark = pytest.mark.browser

FOLDER = Path("var/screenshots")
AXE_WIDTHS = (390, 1440)
PER_ROUTE = 1
"""The most pages of one URL pattern."""


@dataclass(frozen=True)
class Demo:
    server: LiveServer
    facts: dict[str, Any]


@pytest.fixture(scope="module")
def demo(django_db_setup: None) -> Iterator[Demo]:
    with serve() as server:
        server.manage("load_demo", "--verbosity=0")
        facts = json.loads((Path(server.environment["VAR_DIR"]) / "demo.json").read_text())
        yield Demo(server, facts)


@pytest.fixture(scope="module")
def paths(browser: Browser, demo: Demo) -> list[str]:
    with browser.new_context(base_url=demo.server.url) as context:
        page = context.new_page()
        sign_in(page, demo.facts)
        return list(find_pages(page, demo.facts["account"]))


def find_pages(page: Page, slug: str) -> Iterator[str]:
    """Yield the paths of linked pages, those with the fewest links from the start first."""
    waiting, counts = [f"/a/{slug}/"], dict[str, int]()
    while waiting:
        path = waiting.pop(0)
        route = route_of(path)
        if not route or counts.get(route, 0) >= PER_ROUTE:
            continue
        counts[route] = counts.get(route, 0) + 1
        answer = page.request.get(path)
        if answer.status != 200 or not answer.text().lstrip().lower().startswith("<!doctype html"):
            continue
        yield path
        links = [html.unescape(link) for link in re.findall(r'href="(/[^"#]*)', answer.text())]
        inside = (f"/a/{slug}/", "/accounts/", "/auth/", "/oauth/", "/docs/")
        waiting += [link for link in links if link.startswith(inside) and "logout" not in link]


def route_of(path: str) -> str:
    try:
        return resolve(urlsplit(path).path).route
    except Resolver404:
        return ""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_of_the_demo_has_no_layout_fault_at_any_width(
    browser: Browser, demo: Demo, paths: list[str], theme: str
) -> None:
    faults = {}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with browser.new_context(
        base_url=demo.server.url,
        viewport={"width": WIDTHS[-1], "height": HEIGHT},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    ) as context:
        context.set_default_timeout(SECONDS * 1000)
        page = context.new_page()
        sign_in(page, demo.facts)
        page.add_init_script(LAYOUT_SHIFTS)
        for path in paths:
            if faults_of_page := faults_of(page, path, theme):
                faults[path] = faults_of_page
            # Written after each page, so that results can be read before the end, ten minutes later.
            (FOLDER / f"faults-{theme}.json").write_text(json.dumps(faults, indent=1))
    assert faults == {}


def faults_of(page: Page, path: str, theme: str) -> list[str]:
    page.goto(path)
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    faults = list(page.evaluate(FAULTS))
    if (shift := layout_shift(page)) >= MAX_LAYOUT_SHIFT:
        faults.append(f"layout shift {shift:.3f}")
    for width in WIDTHS:
        faults += layout_faults(page, (width,))
        if width in AXE_WIDTHS:
            faults += [f"{width}: {violation}" for violation in violations(page)]
        picture = FOLDER / f"{width}-{theme}" / f"{picture_name(path)}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture, animations="disabled", full_page=True)
    return faults


def picture_name(path: str) -> str:
    address = urlsplit(path)
    name = address.path.split("/", 3)[-1] if address.path.startswith("/a/") else address.path
    return re.sub(r"[^a-z0-9]+", "-", f"{name} {address.query}".lower()).strip("-")[:80] or "overview"

"""The frame by axe-core (WCAG 2.2 AA), with what it opens, light and dark, on a desk and a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.layout import NEXT_FRAMES, WIDTHS
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_pages import FAULTS, overflow
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

PAGES = [
    "notifications/",
    "help/how-we-count/",
    "help/glossary/",
    "help/rest-api/",
    "settings/members/",
    "settings/cost-view/",
    "settings/account/",
    "alerts/subscriptions/new/?trigger=budget",
]


def open_accounts(page: Page) -> None:
    page.get_by_role("button", name="Account Acme: switch account").click()


def open_help(page: Page) -> None:
    page.get_by_role("button", name="Help").click()


def open_notifications(page: Page) -> None:
    page.get_by_role("button", name="Notifications").click()
    expect(page.get_by_role("button", name="Unread: Sync of AWS failed").first).to_be_visible()


def open_search(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("bud")
    expect(page.get_by_role("option", name="Create budget")).to_be_visible()


def open_term(page: Page) -> None:
    page.get_by_role("link", name="What is “Amortized cost”?").click()


@pytest.mark.parametrize(
    ("width", "theme"), [(1280, "light"), (390, "dark"), *also_long((1280, "dark"), (390, "light"))]
)
def test_axe_finds_nothing_in_the_frame(
    new_page: NewPage, console: LiveServer, width: int, theme: str
) -> None:
    console.run("tests.browser.people:add_notification", "owner")
    page = new_page("owner", width=width, theme=theme)
    faults_by_path = {}
    for path in PAGES:
        page.goto(f"/a/acme/{path}")
        faults_by_path[path] = [*violations(page), *page.evaluate(FAULTS)]
    opens = [open_notifications, open_search, open_term]
    if width > 390:
        opens += [open_accounts, open_help]
    for act in opens:
        page.goto("/a/acme/settings/cost-view/")
        act(page)
        faults_by_path[act.__name__] = violations(page)

    assert {path: faults for path, faults in faults_by_path.items() if faults} == {}


def test_no_page_is_wider_than_its_screen(new_page: NewPage) -> None:
    page = new_page("owner")
    excess = {}
    for path in PAGES:
        page.goto(f"/a/acme/{path}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(NEXT_FRAMES)
            if over := overflow(page):
                excess[path, width] = over

    assert excess == {}

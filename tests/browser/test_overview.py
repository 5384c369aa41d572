"""The overview in chromium: the content above the fold, layout shifts, and the first steps."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.layout import LAYOUT_SHIFTS, MAX_LAYOUT_SHIFT, layout_shift
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_pages import FAULTS, overflow

pytestmark = pytest.mark.browser

TILES = ("Spend this month", "Forecast", "Budgets at risk", "Potential monthly savings")


def open_overview(page: Page, height: int = 900) -> None:
    """All that htmx brings is there."""
    page.set_viewport_size(
        {"width": page.viewport_size["width"] if page.viewport_size else 1440, "height": height}
    )
    page.goto("/a/acme/")
    expect(page.locator(".tile .placeholder")).to_have_count(0)
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    expect(page.get_by_role("region", name="Movers")).to_be_visible()


def dismiss(page: Page) -> None:
    page.goto("/a/acme/")
    button = page.get_by_role("button", name="Dismiss steps")
    if button.count():
        button.click()
        page.wait_for_url("**/a/acme/")
    expect(page.get_by_role("region", name="First steps")).to_have_count(0)


def test_tiles_and_trend_fit_a_laptop(new_page: NewPage) -> None:
    page = new_page("member", width=1440)
    dismiss(page)
    page.add_init_script(LAYOUT_SHIFTS)
    open_overview(page)

    for name in TILES:
        expect(page.locator(".tile", has_text=name).first).to_be_in_viewport()
    drawing = page.locator(".overview-trend .chart").first.bounding_box()
    assert drawing is not None
    assert drawing["y"] + drawing["height"] <= 900
    assert layout_shift(page) < MAX_LAYOUT_SHIFT


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_the_overview_has_no_faults(new_page: NewPage, width: int, theme: str) -> None:
    page = new_page("viewer", width=width, theme=theme)
    page.add_init_script(LAYOUT_SHIFTS)
    open_overview(page)

    assert overflow(page) <= 0
    assert page.evaluate(FAULTS) == []
    assert violations(page) == []
    assert layout_shift(page) < MAX_LAYOUT_SHIFT


def test_a_viewer_dismisses_the_first_steps(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/")

    panel = page.get_by_role("region", name="First steps")
    if panel.count():
        expect(panel.get_by_role("link", name="Connect source")).to_have_count(0)
    dismiss(page)
    page.reload()
    expect(panel).to_have_count(0)

"""The figures of charts on a phone: no table scrolls sideways, and each day or series is a block."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import overflow

pytestmark = pytest.mark.browser

DAILY = "/a/acme/cost-explorer/?period=last_30_days&granularity=day&group_by=service"
PATHS = [
    DAILY,
    "/a/acme/cost-explorer/?period=last_3_months&granularity=month&group_by=service",
    "/a/acme/forecast/",
    "/a/acme/unit-economics/?usage_metric=requests&period=last_30_days&granularity=day",
]


@pytest.mark.parametrize("path", PATHS)
def test_figures_of_a_chart_do_not_scroll_sideways_on_a_phone(new_page: NewPage, path: str) -> None:
    page = new_page("viewer", width=390)
    page.goto(path)
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)

    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true })")

    regions = page.locator("details .table-responsive:has(caption)")
    expect(regions.first).to_be_visible()
    too_wide = regions.evaluate_all(
        "(nodes) => nodes.map((node) => node.scrollWidth - node.clientWidth).filter((pixels) => pixels > 0)"
    )
    assert (too_wide, overflow(page)) == ([], 0)


def test_a_day_of_a_chart_is_a_block_that_names_its_series(new_page: NewPage) -> None:
    page = new_page("viewer", width=390)
    page.goto(DAILY)

    page.get_by_text("View data").first.click()

    cells = page.locator(".chart-table tbody > tr").first.locator("td")
    assert cells.count() > 3
    tops = cells.evaluate_all("(nodes) => nodes.map((node) => node.getBoundingClientRect().top)")
    assert tops == sorted(set(tops))
    assert cells.last.get_attribute("data-label") == "Total"


def test_a_list_without_rows_has_no_headings_to_sort_by_on_a_phone(new_page: NewPage) -> None:
    page = new_page("viewer", width=390)

    page.goto("/a/acme/customers/?q=nothing+like+it")

    expect(page.get_by_text("No customers match “nothing like it”.")).to_be_visible()
    expect(page.locator("thead a.sort").first).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("thead a.sort").first).to_be_visible()

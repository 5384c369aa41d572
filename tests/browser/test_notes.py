"""Notes on charts with the keyboard only: create, show, change and delete, with the findings of axe."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_pages import FAULTS, overflow

pytestmark = pytest.mark.browser

MAX_TABS = 120


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the element has the focus, which is visible on it."""
    expect(target).to_be_visible()
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if target.evaluate("node => node === document.activeElement"):
            assert target.evaluate("node => node.matches(':focus-visible')")
            return
    raise AssertionError(f"{MAX_TABS} times Tab do not reach {target}")


def skip_to_content(page: Page) -> None:
    tab_to(page, page.get_by_role("link", name="Skip to content"))
    page.keyboard.press("Enter")


def assert_accessible(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_note_is_written_changed_and_deleted_by_keyboard_alone(
    new_page: NewPage, width: int, theme: str
) -> None:
    page = new_page("member", width=width, theme=theme)
    title = f"Prices changed {width}"
    page.goto("/a/acme/cost-explorer/?period=last_30_days&granularity=day")

    skip_to_content(page)
    tab_to(page, page.get_by_role("link", name="Add note"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Add note")).to_be_visible()
    assert_accessible(page)
    tab_to(page, page.get_by_label("Note", exact=True))
    page.keyboard.type(title)
    page.keyboard.press("Enter")

    expect(page.get_by_text("Note added.")).to_be_visible()
    assert marker_labels(page) == markers_on_charts(page) != []
    skip_to_content(page)
    tab_to(page, page.locator("[data-marker-list] > summary"))
    page.keyboard.press("Enter")
    row = page.get_by_role("row", name=re.compile(title))
    expect(row).to_contain_text("Member")
    assert_accessible(page)
    tab_to(page, page.get_by_role("link", name="View all change events"))
    page.keyboard.press("Enter")

    skip_to_content(page)
    tab_to(page, page.get_by_role("link", name=f"Edit note {title}"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Edit note")).to_be_visible()
    assert_accessible(page)
    tab_to(page, page.get_by_label("Note", exact=True))
    page.keyboard.press("End")
    page.keyboard.type(" again")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Note updated.")).to_be_visible()

    skip_to_content(page)
    tab_to(page, page.get_by_role("link", name=f"Edit note {title} again"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("button", name="Delete"))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert_accessible(page)
    confirm = dialog.get_by_role("button", name="Delete")
    if not confirm.evaluate("node => node === document.activeElement"):
        tab_to(page, confirm)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Note deleted.")).to_be_visible()
    expect(page.get_by_role("link", name=f"Edit note {title} again")).to_have_count(0)


def test_events_on_charts_are_hidden_by_keyboard_and_stay_hidden(new_page: NewPage) -> None:
    page = new_page("member")
    url = "/a/acme/cost-explorer/?period=last_30_days&granularity=day"
    add_note(page, "Hidden for a while")
    page.goto(url)
    assert marker_labels(page) == markers_on_charts(page) != []

    skip_to_content(page)
    tab_to(page, page.get_by_label("Change events on charts"))
    page.keyboard.press("Space")

    assert marker_labels(page) == []
    page.goto(url)
    assert marker_labels(page) == []
    page.get_by_label("Change events on charts").press("Space")
    assert marker_labels(page) == markers_on_charts(page)
    page.get_by_role("checkbox", name=re.compile(r"^Note \(")).press("Space")
    assert len(marker_labels(page)) < len(markers_on_charts(page))


def test_a_click_on_a_marker_opens_the_list_at_its_events(new_page: NewPage) -> None:
    page = new_page("member")
    add_note(page, "Listed at its marker")
    page.goto("/a/acme/cost-explorer/?period=last_30_days&granularity=day")
    chart = page.locator("[data-chart][data-drawn]").first
    label = marker_labels(page)[-1]
    x = chart.evaluate(
        "(node, label) => echarts.getInstanceByDom(node).convertToPixel({xAxisIndex: 0}, label)", label
    )

    chart.click(position={"x": x, "y": 24})

    rows = page.locator("[data-marker-list] tr.table-active")
    expect(rows.first).to_be_focused()
    days = rows.evaluate_all("rows => rows.map(row => row.dataset.markerDay)")
    assert set(days) == {label}


def add_note(page: Page, title: str) -> None:
    page.goto("/a/acme/events/notes/new/?period=last_30_days&granularity=day")
    page.get_by_label("Note", exact=True).fill(title)
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_text("Note added.")).to_be_visible()


def markers_on_charts(page: Page) -> list[str]:
    """Labels of the buckets that have events, by the page."""
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    labels: list[str] = page.locator("[data-chart]").first.evaluate(
        "node => (JSON.parse(node.dataset.chart).markers ?? []).map(({label}) => label)"
    )
    return labels


def marker_labels(page: Page) -> list[str]:
    """Labels at which the chart has a marker now."""
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    labels: list[str] = page.locator("[data-chart]").first.evaluate(
        """node => {
            const {markLine} = echarts.getInstanceByDom(node).getOption().series[0];
            return (markLine?.data ?? []).filter(({label}) => label?.formatter === "▾").map(({xAxis}) => xAxis);
        }"""
    )
    return labels

"""A board as a person works it: made, widgets added, arranged by keyboard and by mouse, narrowed; a viewer reads it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_pages import FAULTS, overflow
from tests.long import also_long

pytestmark = pytest.mark.browser

URL = "/a/acme/dashboards/"


def wait_until_drawn(page: Page) -> None:
    expect(page.locator("main").get_by_text("Loading…")).to_have_count(0)
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)


def make(page: Page, name: str) -> str:
    page.goto(f"{URL}new/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create dashboard").click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    wait_until_drawn(page)
    return page.url


def delete(page: Page, url: str) -> None:
    page.goto(f"{url}edit/")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("deleted.")).to_be_visible()


def item(page: Page, title: str) -> Locator:
    return page.locator(".board-item").filter(has=page.get_by_role("heading", name=title, exact=True))


def drag(page: Page, handle: Locator, *, by: int) -> None:
    """Sideways, by pixels."""
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by, y, steps=10)
    page.mouse.up()


def choose_period(page: Page, label: str, name: str) -> None:
    """In the popover of the board's days."""
    page.locator("#dates-button").click()
    page.get_by_role("link", name=label, exact=True).click()
    expect(page.locator("#dates-button")).to_contain_text(label)
    page.wait_for_url(f"**period={name}*" if name else re.compile(r"/dashboards/\d+/(\?(?!.*period=).*)?$"))
    wait_until_drawn(page)


def at(page: Page, title: str) -> tuple[str | None, ...]:
    return tuple(item(page, title).get_attribute(f"data-{name}") for name in "xywh")


def width_of(page: Page, title: str) -> float:
    box = item(page, title).bounding_box()
    assert box is not None
    return box["width"]


def test_a_board_is_made_filled_and_arranged(new_page: NewPage) -> None:
    page = new_page("member")
    url = make(page, "Weekly")
    expect(page.locator(".alert-danger")).to_have_count(0)

    page.get_by_role("link", name="Add widget").click()
    page.get_by_role("link", name=re.compile("^Table")).click()
    page.get_by_label("Title").fill("By region")
    page.get_by_label("Then by").select_option("region")
    expect(page.locator(".widget-preview thead th", has_text="Region")).to_have_count(1)
    page.get_by_role("button", name="Add widget").click()
    wait_until_drawn(page)
    expect(item(page, "By region").first).to_be_visible()

    before = at(page, "This month")
    page.get_by_role("button", name="Move This month").focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.locator("#announcer")).to_contain_text("This month: column 1, row 1, 3 wide")
    expect(page.locator("#announcer")).to_contain_text("Layout saved")
    with page.expect_response(re.compile("/layout/")):
        drag(page, page.get_by_role("button", name="Move Anomalies"), by=-250)
    page.reload()
    wait_until_drawn(page)

    assert before == ("0", "0", "4", "4")
    assert at(page, "This month") == ("0", "0", "3", "4")
    assert at(page, "Anomalies")[1:] == ("0", "4", "4")
    assert at(page, "Anomalies")[0] != "8"
    choose_period(page, "Last 7 days", "last_7_days")
    # 3 of 12 columns beside 7: where it stood before it was 4.
    assert width_of(page, "This month") * 2 < width_of(page, "Last 30 days by service")
    page.goto(url)
    wait_until_drawn(page)
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Undone: Layout changed")).to_be_visible()
    assert at(page, "Anomalies") == ("8", "0", "4", "4")
    delete(page, url)


def test_a_widget_is_moved_by_buttons_shown_alone_and_removed(new_page: NewPage) -> None:
    page = new_page("member")
    url = make(page, "Menus")

    page.get_by_role("button", name="Menu of This month").click()
    page.get_by_role("button", name="Move and resize").locator("visible=true").click()
    page.get_by_role("group", name="Place and size of This month").get_by_role(
        "button", name="Taller"
    ).click()
    expect(page.locator("#announcer")).to_contain_text("This month: column 1, row 1, 4 wide, 5 high")
    expect(page.locator("#announcer")).to_contain_text("Layout saved")

    page.get_by_role("button", name="Menu of Anomalies").click()
    item(page, "Anomalies").get_by_role("button", name="Full screen").click()
    page.wait_for_function("document.fullscreenElement?.matches('.board-card')")
    page.keyboard.press("Escape")
    page.evaluate("document.exitFullscreen().catch(() => {})")
    page.wait_for_function("!document.fullscreenElement")

    with page.expect_response(re.compile("/dashboards/widgets/")):
        page.get_by_role("button", name="Refresh all widgets").click()
    wait_until_drawn(page)
    page.get_by_role("button", name="Menu of Anomalies").click()
    item(page, "Anomalies").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Removed “Anomalies”")).to_be_visible()
    expect(item(page, "Anomalies")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(item(page, "Anomalies")).to_have_count(1)
    wait_until_drawn(page)
    delete(page, url)


def test_the_days_and_filters_of_the_board_are_in_its_url(new_page: NewPage) -> None:
    page = new_page("member")
    url = make(page, "Narrowed")

    choose_period(page, "Last 7 days", "last_7_days")
    page.locator("#add-filter").click()
    form = page.get_by_role("form", name="Add filter")
    form.get_by_label("Dimension").select_option("provider")
    form.get_by_label("AWS").check()
    form.get_by_role("button", name="Apply").click()
    page.wait_for_url("**f0=provider&f0op=in&f0v=AWS")
    wait_until_drawn(page)
    page.reload()
    wait_until_drawn(page)

    expect(page.locator("#dates-button")).to_contain_text("Last 7 days")
    expect(page.locator(".filter-chip")).to_contain_text("Provider is AWS")
    board_url = page.locator(".board-body").first.get_attribute("hx-get")
    assert board_url is not None
    assert board_url.endswith("?period=last_7_days&f0=provider&f0op=in&f0v=AWS")
    page.get_by_role("link", name="Remove Provider is AWS").click()
    expect(page.locator(".filter-chip")).to_have_count(0)
    choose_period(page, "Period of each widget", "")
    assert "period" not in page.url
    delete(page, url)


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_filter_of_a_widget_changes_its_preview_and_is_saved_with_it(
    new_page: NewPage, width: int, theme: str
) -> None:
    page = new_page("member", width=width, theme=theme)
    url = make(page, f"Chips at {width}")
    page.goto(f"{url}widgets/new/?type=spend_by")
    page.get_by_label("Title").fill("Google only")
    page.get_by_label("Group by").select_option("provider")
    preview = page.locator(".widget-preview")
    expect(preview.get_by_role("link", name="AWS")).to_be_visible()

    page.locator("#add-filter").click()
    form = page.get_by_role("form", name="Add filter")
    form.get_by_label("Dimension").select_option("provider")
    form.get_by_label("Google Cloud").check()
    assert (overflow(page), violations(page)) == (0, [])
    form.get_by_role("button", name="Apply").click()

    expect(page.locator(".filter-chip")).to_contain_text("Provider is Google Cloud")
    expect(preview.get_by_role("link", name="AWS")).to_have_count(0)
    expect(page.get_by_label("Title")).to_have_value("Google only")
    page.get_by_role("button", name="Add widget").click()
    wait_until_drawn(page)
    widget = item(page, "Google only")
    expect(widget.get_by_role("link", name="Google Cloud")).to_be_visible()
    expect(widget.get_by_role("link", name="AWS")).to_have_count(0)

    widget.get_by_role("button", name="Menu of Google only").click()
    widget.get_by_role("link", name="Edit").click()
    page.get_by_role("link", name="Remove Provider is Google Cloud").click()
    expect(page.locator(".filter-chip")).to_have_count(0)
    expect(preview.get_by_role("link", name="AWS")).to_be_visible()
    page.get_by_role("button", name="Save widget").click()
    wait_until_drawn(page)
    expect(item(page, "Google only").get_by_role("link", name="AWS")).to_be_visible()
    delete(page, url)


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), *also_long((1280, "light"))])
def test_axe_finds_nothing_in_the_days_and_filters_of_a_board(
    new_page: NewPage, width: int, theme: str
) -> None:
    page = new_page("member", width=width, theme=theme)
    url = make(page, f"Bar at {width}")
    page.goto(f"{url}?f0=provider&f0op=in&f0v=AWS")
    wait_until_drawn(page)
    faults_by_button = {}

    for button in ("dates-button", "filter-0", "add-filter"):
        page.locator(f"#{button}").click()
        panel = page.locator(f"details:has(> #{button}) > .popover-panel")
        expect(panel).to_be_visible()
        box = panel.bounding_box()
        assert box is not None
        assert (box["x"] >= 0, box["x"] + box["width"] <= width) == (True, True), button
        inside = panel.evaluate("each => each.scrollWidth <= each.clientWidth")
        assert inside, button
        faults_by_button[button] = violations(page)
        page.keyboard.press("Escape")

    assert {name: faults for name, faults in faults_by_button.items() if faults} == {}
    delete(page, url)


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), *also_long((1280, "light"))])
def test_a_viewer_reads_a_board_that_fits_and_is_named(new_page: NewPage, width: int, theme: str) -> None:
    member = new_page("member")
    url = make(member, f"Read at {width}")
    page = new_page("viewer", width=width, theme=theme)
    page.goto(url)
    wait_until_drawn(page)

    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    expect(page.locator(".board-grip")).to_have_count(0)
    tops = [box["y"] for each in page.locator(".board-item").all()[:2] if (box := each.bounding_box())]
    assert (tops[0] < tops[1]) == (width == 390)
    delete(member, url)

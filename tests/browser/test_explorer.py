"""The cost explorer answers while one clicks, and its address always says the question."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.layout import LAYOUT_SHIFTS, MAX_LAYOUT_SHIFT, layout_shift
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_pages import FAULTS
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

URL = "/a/acme/cost-explorer/"


def url_params(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def rows(page: Page) -> list[str]:
    return page.locator("#explorer [aria-labelledby=rows-title] tbody th").all_inner_texts()


def test_a_changed_field_changes_answer_and_address(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)

    page.get_by_label("Group by").select_option(label="Provider")
    expect(page.get_by_role("heading", name="By provider")).to_be_visible()

    assert url_params(page)["group_by"] == ["provider"]
    assert "Google Cloud" in rows(page)
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()


def test_a_chart_lists_its_amounts_under_the_pointer(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)

    page.locator("[data-drawn]").first.hover()
    tip = page.locator(".chart-tip")
    expect(tip).to_contain_text(re.compile(r"Amazon Elastic Compute Cloud\$[\d,.]+.*Total\$[\d,.]+"))

    page.goto("/a/acme/spend-change/")
    page.locator("[data-drawn]").first.hover()
    expect(tip).to_contain_text(re.compile(r"^\w.*\$[\d,.]+$"))


def test_change_events_are_on_the_chart_until_they_are_hidden(new_page: NewPage, console: LiveServer) -> None:
    console.run("tests.browser.people:add_change_event", "checkout v142", 10)
    page = new_page("viewer")
    page.goto(URL)
    chart = page.locator("[data-drawn]").first
    marker_script = "node => echarts.getInstanceByDom(node).getOption().series[0].markLine?.data.length ?? 0"
    expect(chart.locator("canvas").first).to_be_visible()
    assert chart.evaluate(marker_script) == 1

    page.get_by_label("Deployment (1)").uncheck()
    assert chart.evaluate(marker_script) == 0
    page.reload()
    expect(chart.locator("canvas").first).to_be_visible()
    assert chart.evaluate(marker_script) == 0
    page.get_by_label("Deployment (1)").check()
    assert chart.evaluate(marker_script) == 1
    page.get_by_role("checkbox", name="Change events on charts").uncheck()
    assert chart.evaluate(marker_script) == 0
    page.get_by_text("View change events (1)").press("Enter")

    expect(page.get_by_role("rowheader", name="checkout v142")).to_be_visible()
    assert violations(page) == []


def test_back_brings_the_earlier_question_with_its_form(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    page.get_by_label("Group by").select_option(label="Provider")
    expect(page.get_by_role("heading", name="By provider")).to_be_visible()

    page.go_back()

    expect(page.get_by_role("heading", name="By service")).to_be_visible()
    expect(page.get_by_label("Group by")).to_have_value("service")


def test_a_filter_is_searched_added_and_removed_by_keyboard(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    expect(page.get_by_role("link", name="BigQuery")).to_be_visible()

    page.get_by_text("Add filter").press("Enter")
    form = page.get_by_role("form", name="Add filter")
    expect(form.get_by_label("Dimension")).to_be_focused()
    expect(form.get_by_role("checkbox").first).to_have_attribute("value", re.compile("Amazon"))
    search = form.get_by_label("Value", exact=True)
    search.press_sequentially("BigQ")
    expect(form.get_by_role("checkbox")).to_have_count(1)
    search.press("Enter")
    expect(form.get_by_role("checkbox", name="BigQuery")).to_be_checked()
    search.press("Enter")
    expect(page.get_by_role("link", name="Amazon Simple Storage Service")).to_have_count(0)

    assert url_params(page) | {"f0": ["service"], "f0op": ["in"], "f0v": ["BigQuery"]} == url_params(page)
    assert rows(page) == ["BigQuery"]

    page.get_by_role("link", name="Remove Service is BigQuery").press("Enter")
    expect(page.get_by_role("link", name="Amazon Simple Storage Service")).to_be_visible()
    assert "f0" not in url_params(page)


def test_a_chip_opens_its_filter_and_changes_it(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&group_by=service&f0=service&f0v=BigQuery")

    page.locator("#filter-0").click()
    form = page.get_by_role("form", name="Edit filter")
    expect(form.get_by_role("checkbox", name="BigQuery")).to_be_checked()
    form.get_by_label("Operator").select_option("is not")
    form.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("link", name="Amazon Simple Storage Service")).to_be_visible()
    assert "BigQuery" not in rows(page)

    page.locator("#filter-0").click()
    form.get_by_label("Operator").select_option("contains")
    form.get_by_role("checkbox", name="BigQuery").uncheck()
    form.get_by_label("Value", exact=True).fill("storage")
    form.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("link", name="BigQuery")).to_have_count(0)
    assert url_params(page)["f0v"] == ["storage"]


def test_escape_closes_a_popover_and_gives_the_focus_back(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)

    page.locator("#dates-button").press("Enter")
    expect(page.get_by_role("link", name="Last month")).to_be_visible()
    page.get_by_role("link", name="Last month").focus()
    page.keyboard.press("Escape")

    expect(page.get_by_role("link", name="Last month")).to_be_hidden()
    expect(page.locator("#dates-button")).to_be_focused()


def test_a_custom_range_takes_two_dates(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    expect(page.get_by_label("From")).to_be_hidden()

    page.locator("#dates-button").click()
    page.get_by_label("From").fill("2026-10-01")
    page.get_by_label("To", exact=True).fill("2026-10-31")
    page.get_by_role("group", name="Dates").get_by_role("button", name="Apply").click()

    expect(page.locator("#dates-button")).to_contain_text(re.compile("Oct 1 . 31"))
    assert url_params(page)["end_date"] == ["2026-10-31"]
    assert "period" not in url_params(page)


def test_a_preset_and_a_comparison_are_chosen_in_the_date_popover(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)

    page.locator("#dates-button").click()
    page.get_by_role("link", name="Last month").click()
    expect(page.locator("#dates-button")).to_contain_text("Last month")
    page.locator("#dates-button").click()
    page.get_by_role("link", name="Previous year").click()
    expect(page.locator("#dates-button")).to_contain_text("vs previous year")

    assert url_params(page)["period"] == ["last_month"]
    assert url_params(page)["compare_to"] == ["previous_year"]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_chart_is_seen_at_once_and_nothing_moves(new_page: NewPage, width: int, height: int) -> None:
    page = new_page("viewer", width=width)
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(LAYOUT_SHIFTS)

    page.goto(URL)
    chart = page.locator("[data-drawn]").first
    expect(chart.locator("canvas")).to_be_visible()
    box = chart.bounding_box()

    assert box is not None
    assert box["y"] + box["height"] <= height
    assert layout_shift(page) < MAX_LAYOUT_SHIFT

    page.get_by_label("Group by").select_option(label="Provider")
    expect(page.get_by_role("heading", name="By provider")).to_be_visible()
    assert layout_shift(page) < MAX_LAYOUT_SHIFT


def test_all_rows_come_as_csv(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&group_by=service&limit=5")

    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    download.value.save_as(tmp_path / "spend.csv")

    with (tmp_path / "spend.csv").open(newline="") as file:
        services = [row["service"] for row in csv.DictReader(file)]
    assert len(services) > 6
    assert "BigQuery" in services


def test_a_row_leads_one_step_deeper(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&group_by=provider")

    page.get_by_role("link", name="Google Cloud").click()

    expect(page.get_by_role("link", name="BigQuery")).to_be_visible()
    assert url_params(page)["f0v"] == ["Google Cloud"]
    expect(page.get_by_role("link", name="Remove Provider is Google Cloud")).to_be_visible()
    expect(page.get_by_role("navigation", name="Drill-down")).to_contain_text("Google Cloud")


def test_a_click_on_a_heading_sorts_and_the_rest_stays_last(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&group_by=service&limit=5&f0=provider&f0op=not_in&f0v=Hetzner")
    expect(page.get_by_role("button", name="Service")).to_be_visible()

    page.get_by_role("button", name="Service").click()
    by_name = rows(page)
    page.get_by_role("button", name="Spend").click()
    by_spend = rows(page)

    assert by_name[:-1] == sorted(by_name[:-1], key=str.lower)
    assert by_spend[0] == "Amazon Elastic Compute Cloud"
    assert by_name[-1] == by_spend[-1] == "Other (3)"


def test_typing_in_a_search_field_shortens_the_list(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/settings/members/")

    page.get_by_role("searchbox", name="Search").press_sequentially("own")

    expect(page.get_by_role("rowheader", name="owner@example.com")).to_be_visible()
    expect(page.get_by_role("rowheader", name="viewer@example.com")).to_have_count(0)
    assert url_params(page) == {"q": ["own"]}


def series_point(page: Page, series: str, bucket: int) -> tuple[float, float]:
    """Where the middle of a bar of the first chart is, in the page."""
    box = page.locator("[data-drawn]").first.bounding_box()
    assert box is not None
    x, y = page.evaluate(
        """([name, bucket]) => {
          const chart = echarts.getInstanceByDom(document.querySelector("[data-drawn]"));
          const { series } = chart.getOption();
          const index = series.findIndex((each) => each.name === name);
          const below = series.slice(0, index).map((each) => each.data[bucket]?.value ?? each.data[bucket] ?? 0);
          const own = series[index].data[bucket]?.value ?? series[index].data[bucket];
          const sum = below.reduce((total, value) => total + (value > 0 ? value : 0), 0);
          return chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [bucket, sum + own / 2]);
        }""",
        [series, bucket],
    )
    return box["x"] + x, box["y"] + y


def test_a_click_on_a_bar_drills_and_a_crumb_leads_back(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&granularity=day&group_by=provider")
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()

    page.mouse.click(*series_point(page, "AWS", 5))
    expect(page.get_by_role("heading", name="By service")).to_be_visible()
    assert url_params(page)["f0v"] == ["AWS"]
    page.get_by_role("navigation", name="Drill-down").get_by_role("link", name="All cost").click()

    expect(page.get_by_role("heading", name="By provider")).to_be_visible()
    assert "f0" not in url_params(page)


def test_a_drag_over_bars_zooms_to_their_days(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?start_date=2026-10-01&end_date=2026-10-31&granularity=day&group_by=provider")
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()

    page.mouse.move(*series_point(page, "AWS", 4))
    page.mouse.down()
    page.mouse.move(*series_point(page, "AWS", 8), steps=4)
    page.mouse.up()

    expect(page.locator("#dates-button")).to_contain_text(re.compile("Oct 5 . 9"))
    assert "f0" not in url_params(page)
    page.go_back()
    expect(page.locator("#dates-button")).to_contain_text(re.compile("Oct 1 . 31"))


def test_a_pinch_zooms_to_the_days_between_two_fingers(new_page: NewPage) -> None:
    page = new_page("viewer", width=390)
    page.goto(f"{URL}?start_date=2026-10-01&end_date=2026-10-31&granularity=day&group_by=provider")
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()
    (start, y), (right, _y) = (series_point(page, "AWS", index) for index in (0, 30))
    middle, browser = (start + right) / 2, page.context.new_cdp_session(page)

    def touch(kind: str, *distances: float) -> None:
        points = [{"x": middle + distance, "y": y, "id": index} for index, distance in enumerate(distances)]
        browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", -30, 30)
    for distance in (60, 90):
        touch("touchMove", -distance, distance)
    touch("touchEnd")

    expect(page.locator("#dates-button")).to_contain_text(re.compile("Oct 1[01] . 2[01]"))
    assert url_params(page)["group_by"] == ["provider"]


@pytest.mark.parametrize(
    ("width", "theme"), [(1440, "light"), (390, "dark"), *also_long((1440, "dark"), (390, "light"))]
)
def test_axe_finds_nothing_with_each_popover_open(new_page: NewPage, width: int, theme: str) -> None:
    page = new_page("member", width=width, theme=theme)
    page.goto(
        f"{URL}?period=last_30_days&granularity=day&group_by=service&f0=provider&f0v=AWS&f0v=Google+Cloud"
    )
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()
    faults_by_button = {"closed": [*violations(page), *page.evaluate(FAULTS)]}

    for button in (
        "dates-button",
        "options-button",
        "filter-0",
        "add-filter",
        "views-button",
        "actions-button",
    ):
        page.locator(f"#{button}").click()
        expect(page.locator(f"details:has(> #{button}) > .popover-panel")).to_be_visible()
        faults_by_button[button] = violations(page)
        page.keyboard.press("Escape")

    assert {name: faults for name, faults in faults_by_button.items() if faults} == {}


def test_a_drill_down_to_a_resource_ends_in_its_panel(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&granularity=day&group_by=provider")
    urls = {page.url}

    for _step in range(4):
        page.locator("#explorer [aria-labelledby=rows-title] tbody th a").first.click()
        page.wait_for_url(lambda url: url not in urls)
        urls.add(page.url)

    expect(page.get_by_role("region", name="Details")).to_be_visible()
    expect(page.locator("#explorer [aria-labelledby=rows-title] tbody th a")).to_have_count(0)
    assert [url_params(page)[f"f{index}"] for index in range(4)] == [
        ["provider"],
        ["service"],
        ["usage_type"],
        ["resource"],
    ]


def test_a_view_is_saved_opened_and_changed(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{URL}?period=last_30_days&granularity=day&group_by=region")

    page.locator("#views-button").click()
    page.get_by_label("Save view").fill("Regions")
    page.get_by_role("button", name="Save view").click()
    expect(page.get_by_role("heading", name="Regions", level=1)).to_be_visible()
    page.get_by_label("Group by").select_option(label="Provider")
    expect(page.get_by_role("heading", name="By provider")).to_be_visible()
    page.locator("#views-button").click()
    page.get_by_role("button", name="Update view").click()
    expect(page.get_by_text("View “Regions” updated.")).to_be_visible()
    page.goto(URL)
    page.locator("#views-button").click()
    page.get_by_role("link", name="Regions").click()

    expect(page.get_by_role("heading", name="By provider")).to_be_visible()


def test_the_chart_comes_as_a_picture(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&granularity=day&group_by=provider&f0=provider&f0v=AWS")
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()

    page.locator("#actions-button").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download PNG").click()
    download.value.save_as(tmp_path / "chart.png")

    assert download.value.suggested_filename == "explorer-USD.png"
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_the_menu_copies_the_link_and_the_mcp_query(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&granularity=day&group_by=provider")

    page.locator("#actions-button").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Copy as MCP query").click()

    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('{'))")
    assert '"group_by"' in page.evaluate("navigator.clipboard.readText()")

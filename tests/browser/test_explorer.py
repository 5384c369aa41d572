"""The cost explorer answers while one clicks, and its address always says the question."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

URL = "/a/acme/cost-explorer/"


def url_params(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def rows(page: Page) -> list[str]:
    return page.locator("#result .card-table tbody th").all_inner_texts()


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
    expect(tip).to_contain_text(re.compile(r"Amazon Elastic Compute Cloud[\d,.]+ USD.*Total[\d,.]+ USD"))

    page.goto("/a/acme/spend-change/")
    page.locator("[data-drawn]").first.hover()
    expect(tip).to_contain_text(re.compile(r"^\w.*[\d,.]+ USD$"))


def test_back_brings_the_earlier_question_with_its_form(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    page.get_by_label("Group by").select_option(label="Provider")
    expect(page.get_by_role("heading", name="By provider")).to_be_visible()

    page.go_back()

    expect(page.get_by_role("heading", name="By service")).to_be_visible()
    expect(page.get_by_label("Group by")).to_have_value("service")


def test_a_filter_is_suggested_added_and_removed_by_keyboard(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    expect(page.get_by_role("link", name="BigQuery")).to_be_visible()

    page.get_by_role("button", name="Add filter").press("Enter")
    value = page.get_by_label("Value of the filter")
    value.focus()
    expect(page.locator("datalist option").first).to_have_attribute("value", re.compile("Amazon"))
    value.press_sequentially("BigQ")
    expect(page.locator("datalist option")).to_have_count(1)
    value.fill("BigQuery")
    value.press("Enter")
    expect(page.get_by_role("link", name="Amazon Simple Storage Service")).to_have_count(0)

    assert url_params(page) | {"f0": ["service"], "f0v": ["BigQuery"]} == url_params(page)
    assert rows(page) == ["BigQuery"]

    page.get_by_role("button", name="Remove BigQuery").press("Enter")
    expect(page.get_by_role("link", name="Amazon Simple Storage Service")).to_be_visible()
    page.get_by_label("Dimension of the filter").select_option("region")
    assert "f0" not in url_params(page)

    page.get_by_role("button", name="Remove the filter").press("Enter")
    expect(page.get_by_role("link", name="Amazon Simple Storage Service")).to_be_visible()
    assert "f0" not in url_params(page)


def test_a_custom_range_takes_two_dates(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    expect(page.get_by_label("From")).to_be_hidden()

    page.get_by_label("Period").select_option(label="Custom range")
    page.get_by_label("From").fill("2026-10-01")
    page.get_by_label("To", exact=True).fill("2026-10-31")
    page.get_by_label("To", exact=True).blur()

    expect(page.get_by_role("heading", name="Total 2026-10-01 to 2026-10-31, billed").first).to_be_visible()
    assert url_params(page)["end_date"] == ["2026-10-31"]


def test_all_rows_come_as_csv(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&group_by=service&top=5")

    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of all rows").click()
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
    expect(page.get_by_role("button", name="Remove Google Cloud")).to_be_visible()


def test_a_click_on_a_heading_sorts_and_the_rest_stays_last(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?period=last_30_days&group_by=service&top=5&f0=provider&f0op=not_in&f0v=Hetzner")
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

    page.get_by_label("Search").press_sequentially("own")

    expect(page.get_by_role("rowheader", name="owner@example.com")).to_be_visible()
    expect(page.get_by_role("rowheader", name="viewer@example.com")).to_have_count(0)
    assert url_params(page) == {"q": ["own"]}

"""Unit economics as a person works it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

URL = "/a/acme/unit-economics/"
REQUESTS = f"{URL}?usage_metric=requests&mode=per_customer&period=last_30_days&granularity=day"


def url_params(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_a_choice_is_queried_at_once_and_is_in_the_url(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    expect(page.get_by_role("heading", name="Customers, by tag:customer")).to_be_visible()

    page.get_by_label("Usage metric").select_option("seats")
    expect(page.get_by_role("heading", name="Cost per seat", exact=False).first).to_be_visible()
    page.locator("#options-button").click()
    page.get_by_label("Granularity").select_option("week")
    page.keyboard.press("Escape")
    expect(page.locator(".answer-summary")).to_contain_text(
        "Usage is the average of days with usage, so "
        "this is the cost per unit for the whole period, "
        "not per day."
    )
    page.locator("#add-filter").press("Enter")
    value = page.get_by_role("form", name="Add filter").get_by_label("Value", exact=True)
    value.fill("BigQuery")
    value.press("Enter")
    value.press("Enter")
    expect(page.locator(".filter-chip")).to_contain_text("Service is BigQuery")
    expect(page.locator("[data-drawn]")).to_have_count(3)

    page.wait_for_url("**f0v=BigQuery**")
    assert (url_params(page)["usage_metric"], url_params(page)["granularity"]) == (["seats"], ["week"])
    summary = page.locator(".answer-summary").inner_text()
    page.reload()
    expect(page.locator(".answer-summary")).to_have_text(summary)

    page.locator("#options-button").click()
    page.get_by_label("Granularity").select_option("day")
    page.keyboard.press("Escape")
    page.wait_for_url("**granularity=day**f0v=BigQuery**")
    page.get_by_role("link", name="Remove Service is BigQuery").click()
    expect(page.locator(".filter-chip")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"^(?!.*f0=).*granularity=day"))


def test_options_open_by_keyboard_and_their_button_counts_what_is_changed(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(URL)
    button = page.locator("#options-button")
    expect(button.locator(".badge")).to_have_count(0)

    button.press("Enter")
    page.get_by_label("Basis").select_option("billed")
    expect(button.get_by_label("1 changed")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_label("Basis")).to_be_hidden()
    expect(button).to_be_focused()
    page.reload()
    expect(button.get_by_label("1 changed")).to_be_visible()


def test_a_filter_and_a_field_that_change_in_one_moment_are_both_asked(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?usage_metric=requests&period=last_30_days&granularity=day&f0=service&f0v=BigQuery")
    expect(page.locator("[data-drawn]").first).to_be_visible()

    page.evaluate(
        """() => {
          const field = document.getElementById("granularity");
          field.value = "week";
          field.dispatchEvent(new Event("change", { bubbles: true }));
          document.querySelector("[data-remove-filter]").click();
        }"""
    )

    expect(page.locator(".filter-chip")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"^(?!.*f0=).*granularity=week"))


def test_a_filter_without_a_value_is_not_added(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}?usage_metric=requests&period=last_30_days")
    page.locator("#add-filter").click()
    form = page.get_by_role("form", name="Add filter")

    form.get_by_role("button", name="Apply").click()

    expect(form.get_by_label("Value", exact=True)).to_be_focused()
    assert "f0" not in url_params(page)


def test_a_customer_leads_to_its_own_trend_and_back(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(REQUESTS)

    page.get_by_role("link", name="Globex Gesellschaft").first.click()

    expect(page.locator(".chip")).to_have_text("globex")
    assert url_params(page)["customers"] == ["globex"]
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()
    page.get_by_role("button", name="Remove globex").press("Enter")
    expect(page.locator(".chip")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"^(?!.*customers=)"))

    page.get_by_label("Customer", exact=True).fill("c-1")
    page.get_by_label("Customer", exact=True).press("Enter")
    expect(page.locator(".chip")).to_have_text("c-1")
    expect(page).to_have_url(re.compile("customers=c-1"))


def test_the_table_sorts_by_unit_cost_with_the_rest_last(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(REQUESTS)
    table = page.locator("section", has=page.get_by_role("heading", name="Customers, by")).locator("table")

    table.get_by_role("button", name="Cost per", exact=False).press("Enter")

    values = [
        float(each)
        for each in table.locator("tbody tr td:last-child").evaluate_all(
            "cells => cells.map((cell) => cell.dataset.value).filter((value) => value)"
        )
    ]
    assert len(values) > 2
    assert values == sorted(values, reverse=True)


def test_a_member_maps_a_value_by_keyboard_and_takes_it_back(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(REQUESTS)
    field = page.get_by_label("Customer for Globex")
    expect(field).to_have_value("globex")

    field.press("Enter")

    expect(page.get_by_text("Cost of “Globex” now belongs to globex.")).to_be_visible()
    expect(page.get_by_label("Customer for Globex")).to_have_count(0)
    page.get_by_role("link", name="Customer key").first.click()
    page.get_by_role("button", name="Remove Globex").click()
    page.get_by_role("button", name="Remove", exact=True).last.click()
    expect(page.get_by_text("” removed.")).to_be_visible()

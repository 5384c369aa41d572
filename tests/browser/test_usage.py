"""The Usage page's form as a person works it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser


def test_a_choice_is_queried_at_once_and_is_in_the_url(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/usage/?usage_metric=requests&granularity=day&group_by=customer")
    expect(page.get_by_role("row", name="c-0")).to_be_visible()

    page.get_by_label("Metric").select_option("seats")
    page.get_by_label("Group by").select_option("dimension:region")
    expect(page).to_have_url("/a/acme/usage/?usage_metric=seats&granularity=day&group_by=dimension%3Aregion")
    expect(page.get_by_role("row", name="(none)")).to_be_visible()

    page.get_by_label("Period").select_option("custom")
    expect(page.get_by_label("From")).not_to_have_value("")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_label("Value of the filter").fill("globex")
    page.get_by_label("Value of the filter").press("Enter")
    expect(page.get_by_role("row", name="(none)")).to_contain_text("40 seat")
    address = page.url
    assert "start_date=" in address
    assert "customers=globex" in address

    page.reload()
    expect(page.get_by_label("Period")).to_have_value("custom")
    expect(page.locator(".chip")).to_have_text("globex")
    assert page.url == address


def test_names_that_backends_send_keep_their_case(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/customers/")
    headers = page.locator("thead th").all_inner_texts()
    assert "requests" in [text.strip().partition(" (")[0] for text in headers]

    page.goto("/a/acme/usage/?usage_metric=requests&granularity=none")
    expect(page.get_by_role("region", name="Total").locator("h2").first).to_contain_text("requests,")
    assert "requests," in page.get_by_role("region", name="Total").locator("h2").first.inner_text()


def test_a_customer_is_reached_from_its_row_and_leads_back_to_the_query(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/usage/?usage_metric=requests&granularity=day&group_by=customer")

    page.get_by_role("link", name="Globex Gesellschaft").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Globex Gesellschaft")
    page.get_by_label("Granularity").select_option("week")
    expect(page.locator("[data-drawn]")).to_have_count(2)
    page.get_by_role("link", name="Explore", exact=True).first.click()

    expect(page.locator(".chip")).to_have_text("globex")
    expect(page.get_by_label("Granularity")).to_have_value("week")

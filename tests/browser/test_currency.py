"""Display currency as a person works it: a rate is entered, a page is converted, and the rates are looked up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

RATES = "/a/acme/exchange-rates/"


def test_a_rate_is_entered_a_page_is_converted_and_its_rates_are_named(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{RATES}new/")
    day = datetime.now(UTC).date() - timedelta(days=6)
    page.get_by_label("Date").fill(day.isoformat())
    page.get_by_label("From").select_option("USD")
    page.get_by_label("To", exact=True).select_option("EUR")
    page.get_by_label("Rate").fill("0.5")
    page.get_by_role("button", name="Save rate").click()

    expect(page.get_by_text("Rate saved: 1 USD = 0.5 EUR")).to_be_visible()

    page.goto("/a/acme/cost-explorer/?currency=EUR")
    page.get_by_role("button", name="Currency: EUR").click()
    expect(page.get_by_role("link", name="USD").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Exchange rates used").click()
    expect(page.get_by_text("1 USD = 0.5 EUR").first).to_be_visible()

    page.keyboard.press("Escape")
    week = "/a/acme/cost-explorer/?period=last_7_days"
    page.evaluate(f"htmx.ajax('GET', '{week}', {{target: '#explorer', swap: 'outerHTML'}})")
    expect(page.locator("#currency-switch a[href*='period=last_7_days']").first).to_be_attached()
    expect(page.locator("#currency-switch")).to_have_count(1)

    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        for path in (RATES, f"{RATES}new/", f"{RATES}upload/", "/a/acme/cost-explorer/", "/a/acme/"):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/a/acme/?currency=own")

"""Assistant activity as a person works it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser


def test_a_chosen_filter_applies_to_list_chart_and_url(new_page: NewPage) -> None:
    page = new_page("owner")
    page.goto("/a/acme/assistant-activity/")
    calls = page.get_by_role("table", name="Calls of assistants")
    expect(calls.get_by_role("link", name="listBudgets").first).to_be_visible()

    page.get_by_label("Outcome").select_option("Refused")
    expect(calls.get_by_role("row")).to_have_count(2)
    expect(calls).to_contain_text("create_budget")
    expect(page.locator("[data-chart][data-drawn]")).to_have_count(1)
    assert "outcome=refused" in page.url

    page.reload()
    expect(page.get_by_label("Outcome")).to_have_value("refused")
    page.get_by_label("Outcome").select_option("")
    page.get_by_role("searchbox", name="Search", exact=True).fill("services")
    page.keyboard.press("Enter")
    expect(calls.get_by_role("row")).to_have_count(2)


def test_a_call_is_opened_and_leads_to_the_console_and_back_to_its_kind(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/assistant-activity/?name=querySpend&outcome=ok&days=1")
    page.get_by_role("table", name="Calls of assistants").get_by_role("link", name="querySpend").click()
    expect(page.locator("#arguments")).to_contain_text('"period": "last_7_days"')

    page.get_by_role("link", name="Open in console").click()
    expect(page.locator("#dates-button")).to_contain_text("Last 7 days")
    page.go_back()
    page.get_by_role("link", name="All calls of querySpend").click()

    expect(page.get_by_label("Tool or prompt")).to_have_value("querySpend")


def test_a_viewer_does_not_find_calls_of_the_owners_app(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/assistant-activity/")

    expect(
        page.get_by_role("table", name="Calls of assistants").get_by_role("link", name="querySpend").first
    ).to_be_visible()
    expect(page.get_by_text("listBudgets")).to_have_count(0)

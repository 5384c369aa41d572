"""An admin limits what a viewer sees: filters as chips, an alternative, the preview, the reader's limit."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

BASE = "/a/acme/settings/cost-access/"


def add_filter(page: Page, button: str, dimension: str, value: str) -> None:
    page.locator("summary", has_text=button).click()
    form = page.locator("details[open] [data-filter-form]")
    form.get_by_label("Dimension").select_option(dimension)
    form.get_by_label("Value", exact=True).fill(value)
    form.get_by_label("Value", exact=True).press("Enter")
    form.get_by_role("button", name="Apply").click()
    expect(page.locator("details[open] [data-filter-form]")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, *also_long(390)])
def test_an_admin_limits_a_viewer(console: LiveServer, new_page: NewPage, width: int) -> None:
    name = f"Compute {width}"
    page = new_page("admin", width=width)
    page.goto(f"{BASE}new/")
    page.get_by_label("Name").fill(name)
    add_filter(page, "Add filter", "service", "Amazon Elastic Compute Cloud")
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_text("Would see").first).to_be_visible()
    add_filter(page, "Add alternative", "service", "BigQuery")
    expect(page.locator(".filter-chip")).to_have_count(2)
    expect(page.get_by_label("Name")).to_have_value(name)
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    page.get_by_role("button", name="Create limit").click()
    row = page.get_by_role("row", name="viewer@")
    row.get_by_role("combobox").select_option(name)
    row.get_by_role("button", name="Change").click()
    expect(page.get_by_text(f"limited to {name}.")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    reader = new_page("viewer", width=width)
    for path in ("", "cost-explorer/", "budgets/", "alerts/", "change-events/"):
        reader.goto(f"/a/acme/{path}")
        expect(reader.get_by_text(f"Cost access is limited to {name}.")).to_be_visible()
        assert reader.evaluate(FAULTS) == []
        assert overflow(reader) == 0
    reader.goto("/a/acme/")
    reader.keyboard.press("Control+k")
    reader.get_by_role("combobox", name="Search").fill("compute")
    expect(reader.get_by_role("option").first).to_be_visible()
    expect(reader.get_by_role("option", name="Create")).to_have_count(0)
    page.goto(BASE)
    expect(page.get_by_role("row", name=name)).to_contain_text("Service is Amazon Elastic Compute Cloud")
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0

    row = page.get_by_role("row", name=name)
    row.get_by_role("link", name="1", exact=True).click()
    row = page.get_by_role("row", name="viewer@")
    row.get_by_role("combobox").select_option("All cost")
    row.get_by_role("button", name="Change").click()
    expect(page.get_by_text(": all cost.")).to_be_visible()


@pytest.mark.parametrize("width", [1280, *also_long(390)])
def test_pages_say_what_a_limit_and_a_removal_concern_before_they_do(
    console: LiveServer, new_page: NewPage, width: int
) -> None:
    """Nothing is confirmed here: other tests need the member."""
    name, key = f"Own {width}", f"Notebook {width}"
    member = new_page("member", width=width)
    member.goto("/a/acme/settings/mcp-keys/new/")
    member.get_by_label("Name").fill(key)
    member.get_by_role("button", name="Create key").click()
    page = new_page("admin", width=width)
    page.goto(f"{BASE}new/")
    page.get_by_label("Name").fill(name)
    add_filter(page, "Add filter", "service", "BigQuery")
    page.get_by_role("button", name="Create limit").click()
    row = page.get_by_role("row", name="member@")
    row.get_by_role("combobox").select_option(name)
    row.get_by_role("button", name="Change").click()
    expect(page.get_by_text(key)).to_be_visible()
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    page.get_by_role("link", name="Cancel").click()
    page.goto("/a/acme/settings/members/")
    page.get_by_role("row", name="member@").get_by_role("link", name="Remove").click()
    expect(page.get_by_text(key)).to_be_visible()
    expect(page.get_by_label("MCP keys")).to_have_value("")
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0

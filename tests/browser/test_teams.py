"""Teams and saved unit metrics as a person works them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser


def test_a_member_gives_a_value_to_a_new_team_and_takes_it_back(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/teams/")
    page.get_by_role("link", name="New team").first.click()
    page.get_by_label("Name").fill("Rocket science")
    page.get_by_role("button", name="Create team").click()
    expect(page.get_by_role("heading", name="Rocket science", level=1)).to_be_visible()
    page.get_by_label("Search values").fill("initech")
    add = page.get_by_role("button", name=re.compile("^Add initech"))
    expect(page.locator("#unowned-values tbody tr")).to_have_count(1)

    add.press("Enter")

    expect(page.get_by_text("now belongs to Rocket science")).to_be_visible()
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()
    expect(page.locator("#values")).to_contain_text("$")
    page.get_by_role("link", name="Teams").first.click()
    row = page.locator("#teams tr", has_text="Rocket science")
    expect(row).to_contain_text("$")
    expect(row.locator("svg.spark").first).to_be_visible()

    row.get_by_role("link").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    expect(page.get_by_text("Rocket science deleted.")).to_be_visible()


def test_a_member_saves_a_unit_metric_and_changes_its_question(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/unit-economics/?usage_metric=requests&period=last_30_days&granularity=day")
    page.locator("#options-button").click()
    page.get_by_label("Per", exact=True).select_option("1000")
    page.keyboard.press("Escape")
    save = page.get_by_role("link", name="Save as metric")
    expect(save).to_have_attribute("href", re.compile("per=1000"))
    save.click()
    page.get_by_label("Name").fill("Cost per thousand calls")
    page.get_by_role("button", name="Save changes").click()
    card = page.locator("section.card", has_text="Cost per thousand calls")
    expect(card.locator(".figure").first).to_contain_text("$")
    expect(card.locator("svg.spark").first).to_be_visible()

    card.get_by_role("link", name="Cost per thousand calls", exact=True).click()
    expect(page.get_by_label("Per", exact=True)).to_have_value("1000")
    page.locator("#options-button").click()
    page.get_by_label("Per", exact=True).select_option("1")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Update Cost per thousand calls").click()
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Cost per thousand calls is saved.")).to_be_visible()

    page.get_by_role("link", name="Edit Cost per thousand calls").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    expect(page.get_by_text("Cost per thousand calls deleted.")).to_be_visible()

"""Shared-cost splits as a person uses them: the form with its effect, creation, the page, deletion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow

pytestmark = pytest.mark.browser

URL = "/a/acme/shared-costs/"


def delete(page: Page) -> None:
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("deleted.")).to_be_visible()


def test_a_split_is_made_while_its_effect_is_seen(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{URL}new/")
    preview = page.locator("#split-preview")
    expect(preview).to_contain_text("Choose a dimension.")

    page.get_by_label("Name").fill("Storage")
    page.get_by_label("Dimension").select_option("service")
    page.get_by_label("Shared cost").fill("Simple Stor")
    expect(page.locator("#split-values option").first).to_have_attribute(
        "value", "Amazon Simple Storage Service"
    )
    page.get_by_label("Shared cost").fill("Amazon Simple Storage Service")
    page.get_by_label("Target 1", exact=True).fill("GPT API")
    page.get_by_label("Target 2", exact=True).fill("BigQuery")
    page.get_by_label("Method").select_option("fixed")
    page.get_by_label("Percentage of target 1").fill("60")
    page.get_by_label("Percentage of target 2").fill("30")
    page.get_by_label("Percentage of target 2").blur()
    expect(preview).to_contain_text("10 short of 100")
    expect(page.get_by_label("Target 1", exact=True)).to_have_value("GPT API")

    page.get_by_label("Percentage of target 2").fill("40")
    page.get_by_label("Percentage of target 2").blur()
    # The storage is a target of another split already.
    expect(preview).to_contain_text("is a target of split 'Databases'")
    page.get_by_role("button", name="Create split").click()
    expect(page.get_by_text("is a target of split 'Databases'").first).to_be_visible()

    page.get_by_role("button", name="Add targets").click()
    expect(page.get_by_label("Target 6", exact=True)).to_be_visible()
    page.get_by_label("Shared cost").fill("Amazon Elastic Compute Cloud")
    page.get_by_label("Shared cost").blur()
    expect(preview).to_contain_text("moved, billed")
    expect(preview.locator("canvas").first).to_be_visible()
    page.get_by_role("button", name="Create split").click()
    expect(page.get_by_role("heading", name="Storage", exact=True)).to_be_visible()
    expect(page.locator("[data-name=split-USD] canvas")).to_be_visible()
    delete(page)


def test_another_period_comes_without_leaving_the_page(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto(f"{URL}2/")

    page.get_by_label("Period").select_option("last_7_days")

    expect(page).to_have_url(f"{page.url.split('?')[0]}?period=last_7_days")
    expect(page.locator("#result canvas").first).to_be_visible()
    assert page.evaluate(FAULTS) == []
    assert not overflow(page)

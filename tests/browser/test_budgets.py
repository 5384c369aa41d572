"""Budgets as a person works them: made from a suggestion, looked at, changed, deleted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.long import also_long

pytestmark = pytest.mark.browser

URL = "/a/acme/budgets/"


def make(page: Page, name: str, amount: str = "") -> None:
    page.goto(f"{URL}new/")
    page.get_by_label("Name").fill(name)
    if amount:
        page.get_by_label("Amount per period").fill(amount)
    page.get_by_role("button", name="Create budget").click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def delete(page: Page) -> None:
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("deleted.")).to_be_visible()


def test_the_form_follows_its_scope_and_keeps_what_was_said(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{URL}new/")
    page.get_by_label("Name").fill("One source")
    suggested = page.get_by_label("Amount per period").input_value()

    page.get_by_label("Budget for").select_option("cost_source")
    page.get_by_label("Cost source").select_option(label="Clouds")
    page.get_by_label("Period", exact=True).select_option("quarterly")
    expect(page.locator(".budget-periods input")).to_have_count(8)

    expect(page.get_by_label("Name")).to_have_value("One source")
    expect(page.get_by_label("Amount per period")).not_to_have_value(suggested)
    page.get_by_text("Amounts for single periods").click()
    page.locator(".budget-periods input").nth(1).fill("123456.78")
    page.get_by_label("Period", exact=True).select_option("monthly")
    expect(page.locator(".budget-periods input")).to_have_count(12)

    page.get_by_label("Currency").fill("USD")
    page.get_by_label("Amount per period").fill("5000")
    page.get_by_role("button", name="Create budget").click()
    expect(page.get_by_role("heading", name="One source")).to_be_visible()
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    delete(page)


def test_input_typed_while_the_form_reloads_is_kept(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto(f"{URL}new/")
    suggested = page.get_by_label("Amount per period").input_value()
    routes: list[Route] = []
    page.route(f"**{URL}new/?*", lambda route: routes.append(route))
    with page.expect_request(f"**{URL}new/?*"):
        page.get_by_label("Period", exact=True).select_option("yearly")

    page.get_by_label("Amount per period").fill("4321.09")
    routes[0].continue_()

    expect(page.locator(".budget-periods input")).to_have_count(3)
    expect(page.get_by_label("Amount per period")).to_have_value("4321.09")
    assert suggested != "4321.09"


def test_a_budget_at_risk_shows_on_its_page_the_list_and_the_overview(new_page: NewPage) -> None:
    page = new_page("member")
    make(page, "Far too small", "1")

    expect(page.get_by_text("Exceeded").first).to_be_visible()
    expect(page.locator("[data-name=burn-up] canvas").first).to_be_visible()
    page.get_by_role("link", name="Budgets", exact=True).first.click()
    page.get_by_label("Status", exact=True).select_option("exceeded")
    page.wait_for_url("**status=exceeded**")
    expect(page.get_by_role("row", name="Far too small")).to_contain_text("Exceeded")
    page.goto("/a/acme/")
    tile = page.get_by_role("region", name="Budgets at risk")
    expect(tile).to_contain_text("at or above the amount since")

    tile.get_by_role("link", name="Far too small").click()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Amount per period").fill("99999999")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Budget updated.")).to_be_visible()
    expect(page.locator("main .badge").first).to_contain_text("OK")
    delete(page)


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), *also_long((1280, "light"))])
def test_a_budgets_pages_fit_and_are_named(new_page: NewPage, width: int, theme: str) -> None:
    page = new_page("member", width=width, theme=theme)
    make(page, f"A budget with a long name for the whole of the company, at {width} pixels")
    own, faults_by_path = page.url, {}
    for path in (own, f"{own}edit/", URL, f"{URL}new/?scope=cost_tag", "/a/acme/"):
        page.goto(path)
        expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
        page.wait_for_load_state("networkidle")
        if faults := [*page.evaluate(FAULTS), *[f"{over} too wide" for over in [overflow(page)] if over]]:
            faults_by_path[path] = faults
    page.goto(own)
    delete(page)
    assert faults_by_path == {}

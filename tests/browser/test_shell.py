"""The frame around every page: navigation, accounts, search."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import overflow
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

REFUSED_COST_SEARCH = """
const server = window.fetch;
window.fetch = (url, options) => url.includes("costs=1")
  ? Promise.resolve(new Response("", { status: 429, headers: { "Retry-After": "42" } }))
  : server(url, options);
"""


def search_for(page: Page, text: str) -> None:
    page.get_by_role("combobox", name="Search pages").press_sequentially(text)


@pytest.mark.parametrize("path", ["/a/acme/teams/", "/a/acme/settings/audit-log/"])
def test_the_navigation_fits_a_screen_of_900_pixels(new_page: NewPage, path: str) -> None:
    page = new_page("owner")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(path)

    heights = page.evaluate(
        "(({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight])(document.querySelector('#sidebar-menu nav'))"
    )
    assert heights[0] <= heights[1]


def test_settings_have_a_navigation_next_to_the_page(new_page: NewPage) -> None:
    page = new_page("owner")
    page.goto("/a/acme/teams/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Settings").click()

    settings = page.get_by_role("navigation", name="Settings")
    settings.get_by_role("link", name="Audit log").click()

    expect(page.get_by_role("heading", name="Audit log", level=1)).to_be_visible()
    expect(settings.get_by_role("link", name="Audit log")).to_have_attribute("aria-current", "page")


def test_on_a_phone_the_navigation_of_settings_is_a_list_behind_a_button(new_page: NewPage) -> None:
    page = new_page("owner", width=390)
    page.goto("/a/acme/settings/members/")
    settings = page.get_by_role("navigation", name="Settings")
    expect(settings.get_by_role("link", name="Cost view")).to_be_hidden()

    settings.get_by_role("button", name="Settings: Members").click()
    settings.get_by_role("link", name="Cost view").click()

    expect(page.get_by_role("heading", name="Cost view", level=1)).to_be_visible()
    assert overflow(page) == 0


def test_on_a_phone_the_navigation_of_your_settings_is_the_same_list(new_page: NewPage) -> None:
    page = new_page("viewer", width=390)
    page.goto("/auth/email/")
    settings = page.get_by_role("navigation", name="Your settings")
    expect(settings.get_by_role("link", name="Sessions")).to_be_hidden()

    settings.get_by_role("button", name="Your settings: Email").click()
    settings.get_by_role("link", name="Sessions").click()

    expect(settings.get_by_role("button", name="Your settings: Sessions")).to_be_visible()
    assert overflow(page) == 0


def test_the_menu_of_accounts_closes_by_escape_and_gives_the_focus_back(new_page: NewPage) -> None:
    page = new_page("both")
    page.goto("/a/acme/teams/")
    button = page.get_by_role("button", name="Account Acme: switch account")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Elsewhere")).to_be_visible()

    page.keyboard.press("Escape")

    expect(page.get_by_role("link", name="Elsewhere")).to_be_hidden()
    expect(button).to_be_focused()


def test_accounts_are_walked_with_the_arrows(new_page: NewPage) -> None:
    page = new_page("both")
    page.goto("/a/acme/teams/")
    page.get_by_role("button", name="Account Acme: switch account").focus()

    for key in ("Enter", "Tab", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.get_by_role("link", name="Elsewhere")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="Account Elsewhere: switch account")).to_be_visible()


def test_many_accounts_are_searched_and_the_first_is_opened_by_enter(
    new_page: NewPage, console: LiveServer
) -> None:
    console.run("tests.browser.people:add_accounts", 9)
    page = new_page("viewer")
    page.goto("/a/acme/teams/")
    page.get_by_role("button", name="Account Acme: switch account").click()
    field = page.get_by_role("searchbox", name="Search accounts")
    expect(field).to_be_focused()

    field.fill("branch 7")
    expect(page.get_by_role("link", name="Branch 3")).to_be_hidden()
    field.press("Enter")

    expect(page.get_by_role("button", name="Account Branch 7: switch account")).to_be_visible()


def test_a_page_is_searched_and_opened_by_the_keyboard_alone(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/teams/")

    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search pages")
    expect(field).to_be_focused()
    search_for(page, "forec")
    option = page.get_by_role("option", name="Forecast")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", option.get_attribute("id") or "")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Forecast", level=1)).to_be_visible()


def test_a_service_is_found_and_opens_the_explorer_narrowed_to_it(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/teams/")
    page.keyboard.press("Control+k")
    search_for(page, "bigq")

    page.get_by_role("option", name="BigQuery").click()

    expect(page.get_by_role("heading", name="Cost explorer", level=1)).to_be_visible()
    expect(page.get_by_role("navigation", name="Drill-down")).to_contain_text("BigQuery")


def test_a_search_without_results_says_so_and_closes_by_escape(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/teams/")
    page.keyboard.press("Control+k")
    search_for(page, "zzzzqq")

    expect(page.get_by_text("No results for “zzzzqq”")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_role("combobox", name="Search pages")).to_be_hidden()


def test_on_a_phone_a_button_opens_the_search(new_page: NewPage) -> None:
    page = new_page("member", width=390, theme="dark")
    page.goto("/a/acme/teams/")
    page.get_by_role("button", name="Search", exact=True).click()
    search_for(page, "budget")

    page.get_by_role("option", name="Create budget").click()

    expect(page.get_by_role("heading", name="New budget", level=1)).to_be_visible()
    assert overflow(page) == 0


def test_a_failed_sync_is_counted_at_the_bell_until_all_are_marked_as_read(
    new_page: NewPage, console: LiveServer
) -> None:
    console.run("tests.browser.people:add_notification", "owner")
    page = new_page("owner")
    page.goto("/a/acme/teams/")
    bell = page.get_by_role("button", name="Notifications")
    expect(bell).to_have_accessible_name("Notifications 1 unread")

    bell.click()
    popover = page.get_by_role("dialog", name="Notifications")
    popover.get_by_role("link", name="View all notifications").click()
    page.get_by_role("button", name="Mark all as read").click()

    expect(page.get_by_text("All notifications marked as read.")).to_be_visible()
    expect(bell).to_have_accessible_name("Notifications")
    assert overflow(page) == 0


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_the_bell_opens_the_newest_and_marks_them_as_read_in_place(
    new_page: NewPage, console: LiveServer, width: int, theme: str
) -> None:
    console.run("tests.browser.people:add_notification", "owner")
    page = new_page("owner", width=width, theme=theme)
    page.goto("/a/acme/teams/")
    bell = page.get_by_role("button", name="Notifications")
    bell.click()
    popover = page.get_by_role("dialog", name="Notifications")
    expect(popover.get_by_role("button", name="Unread: Sync of AWS failed")).to_be_visible()
    assert overflow(page) == 0

    popover.get_by_role("button", name="Mark all as read").click()

    expect(popover.get_by_role("button", name="Mark all as read")).to_be_hidden()
    expect(popover.get_by_role("button", name="Sync of AWS failed").first).to_be_visible()
    expect(bell).to_have_accessible_name("Notifications")
    page.keyboard.press("Escape")
    expect(popover).to_be_hidden()


def test_a_search_that_is_refused_says_when_to_try_again(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.add_init_script(REFUSED_COST_SEARCH)
    page.goto("/a/acme/teams/")
    page.keyboard.press("Control+k")
    search_for(page, "budget")

    expect(page.get_by_text("No cost results: too many searches. Try again in 42 s.")).to_be_visible()
    expect(page.get_by_role("option", name="Budgets Costs")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_avatars_are_square(new_page: NewPage, width: int) -> None:
    page = new_page("both", width=width)
    page.goto("/a/acme/teams/")

    sizes = page.evaluate(
        """[...document.querySelectorAll(".avatar")].map((each) => each.getBoundingClientRect())
        .filter(({ width }) => width).map(({ width, height }) => Math.abs(width - height))"""
    )
    assert sizes
    assert max(sizes) < 0.5


def test_a_page_takes_the_width_of_a_screen_of_1920_pixels(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto("/a/acme/teams/")

    card = page.locator("main .card").first.bounding_box()
    assert card is not None
    assert card["width"] > 1550
    assert overflow(page) == 0


def test_enter_in_the_form_of_a_subscription_is_not_the_button_of_a_new_channel(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/alerts/subscriptions/new/?trigger=anomaly")

    # The first button of a form is that of the Enter key.
    first = page.evaluate("document.querySelector('#subscription-form [type=submit]').name")
    assert first == ""


def test_a_question_mark_opens_its_term_and_escape_closes_it(new_page: NewPage) -> None:
    page = new_page("owner")
    page.goto("/a/acme/settings/cost-view/")
    question = page.get_by_role("link", name="What is “Amortized cost”?")
    question.focus()
    page.keyboard.press("Enter")

    popover = page.get_by_role("dialog", name="Amortized cost")
    expect(popover).to_contain_text("upfront payments spread")
    page.keyboard.press("Escape")

    expect(popover).to_be_hidden()
    page.get_by_role("link", name="What is “Amortized cost”?").click()
    popover.get_by_role("link", name="How we count").click()
    expect(page.get_by_role("heading", name="Cost view")).to_be_in_viewport()


def test_the_menu_of_help_leads_to_the_glossary(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/teams/")
    page.get_by_role("button", name="Help").click()

    page.get_by_role("link", name="Glossary").click()

    expect(page.get_by_role("heading", name="Glossary", level=1)).to_be_visible()

"""Adding a connection with the keyboard, testing it, and watching its first sync."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.finops.costs.test_imports import MAY
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser


def put_bill(console: LiveServer, text: str = MAY) -> str:
    """A folder on the server with the bill of a month."""
    folder = Path(console.environment["VAR_DIR"]) / "sample-bills" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "2026-05.csv").write_text(text)
    return str(folder)


def pick(page: Page, words: str, name: str) -> None:
    """Find a connector by words and choose it, by keyboard."""
    page.goto("/a/acme/connections/new/")
    page.get_by_label("Search providers").focus()
    page.keyboard.type(words)
    card = page.get_by_role("link", name=name)
    expect(card).to_have_count(1)
    expect(page.get_by_role("heading", name="Cloud", exact=True)).to_have_count(0)
    card.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_a_connection_is_added_by_keyboard_and_its_first_sync_watched(
    new_page: NewPage, console: LiveServer
) -> None:
    folder = put_bill(console)
    page = new_page("member")
    pick(page, "folder server", "Folder on this server")

    page.locator("#id_folder").fill("/etc")
    test = page.get_by_role("button", name="Test connection")
    test.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#findings")).to_contain_text("CONNECTION_FOLDERS")
    assert page.evaluate(FAULTS) == []

    page.locator("#id_name").fill("Bills of the browser")
    page.locator("#id_folder").fill(folder)
    page.locator("#id_pattern").fill("{year}-{month}.csv")
    test.press("Enter")
    expect(page.get_by_role("heading", name="Connection works")).to_be_visible()
    page.get_by_role("button", name="Add connection").press("Enter")

    expect(page.get_by_role("heading", name="Waiting for a worker")).to_be_visible()
    console.run("tests.browser.people:run_syncs")
    expect(page.get_by_role("heading", name="Done 1 month imported")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    page.get_by_role("link", name="View cost").click()
    expect(page.get_by_role("heading", name="Cost explorer")).to_be_visible()


def test_a_snippet_is_copied(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/connections/new/?connector=folder")

    page.get_by_role("button", name="Copy: Allow the folder").click()

    expect(page.get_by_role("button", name="Copy: Allow the folder")).to_have_text("Copied")
    assert "CONNECTION_FOLDERS" in page.evaluate("navigator.clipboard.readText()")


def test_a_layout_of_a_provider_is_copied_into_the_field_of_the_files(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/connections/new/?connector=bucket_focus")

    page.get_by_label("Layout").select_option(label="OVHcloud: one file a day")

    expect(page.locator("#id_pattern")).to_have_value("*/{year}/{month}/{day}/focus.csv")
    assert page.evaluate(FAULTS) == []


@pytest.mark.parametrize("width", [390, 1920, *also_long(768, 1440)])
def test_a_long_finding_and_a_long_error_fit(new_page: NewPage, width: int) -> None:
    page = new_page("owner", width=width)
    page.goto("/a/acme/connections/new/?connector=folder")
    page.locator("#id_folder").fill(f"/srv/{'a-very-long-name-without-a-break' * 8}")
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator(".finding-failed").first).to_be_visible()
    assert overflow(page) == 0

    for path in ("connections/", "connections/3/", "connections/3/syncs/", "connections/syncs/5/"):
        page.goto(f"/a/acme/{path}")
        assert overflow(page) == 0, path


def test_fields_of_another_choice_are_hidden(new_page: NewPage, console: LiveServer) -> None:
    page = new_page("member")
    page.goto("/a/acme/connections/new/?connector=github")
    token, app_id = page.get_by_label("Personal access token"), page.get_by_label("App ID")
    expect(token).to_be_visible()
    expect(app_id).to_be_hidden()

    page.get_by_label("Access", exact=True).select_option("app")

    expect(app_id).to_be_visible()
    expect(page.get_by_label("Private key of the App")).to_be_visible()
    expect(token).to_be_hidden()
    assert page.evaluate(FAULTS) == []
    page.set_viewport_size({"width": 390, "height": 900})
    assert overflow(page) == 0

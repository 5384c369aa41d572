"""A usage source from nothing to its first event, as a backend engineer goes about it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.long import also_long

pytestmark = pytest.mark.browser


def make_source(page: Page, name: str) -> None:
    page.goto("/a/acme/connections/")
    page.get_by_role("link", name="Usage sources").click()
    page.get_by_role("link", name="New usage source").first.click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create source").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_a_key_is_generated_copied_pasted_regenerated_and_revoked(new_page: NewPage) -> None:
    page = new_page("member")
    make_source(page, "Billing backend")

    page.get_by_role("button", name="Generate API Key").click()
    first = page.get_by_label("Your new key").inner_text()
    page.get_by_role("button", name="Copy key").click()
    assert page.evaluate("navigator.clipboard.readText()") == first
    node = str(Path(sys.executable).with_name("node"))
    for snippet, command in (
        ("snippet-curl", ["bash", "-c"]),
        ("snippet-python", [sys.executable, "-c"]),
        ("snippet-node", [node, "-e"]),
    ):
        text = page.locator(f"#{snippet}").inner_text()
        process = subprocess.run([*command, text], capture_output=True, text=True, check=True, timeout=60)
        assert re.search(r"accepted\W+1\b", process.stdout)

    page.get_by_role("link", name="Done").click()
    card = page.get_by_role("region", name="API key")
    expect(card).to_contain_text(f"{first[:15]}••••••••")
    expect(card).not_to_contain_text("Never")
    expect(page.locator("body")).not_to_contain_text(first)

    page.get_by_role("button", name="Regenerate API Key").click()
    page.get_by_role("button", name="Regenerate", exact=True).click()
    second = page.get_by_label("Your new key").inner_text()
    assert second != first

    page.get_by_role("link", name="Done").click()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="Generate API Key")).to_be_visible()


def test_a_source_is_deleted_on_a_phone_where_the_question_stands_in_sight(new_page: NewPage) -> None:
    page = new_page("member", width=390)
    make_source(page, "Short-lived")
    page.get_by_role("button", name="Delete source").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("0 events and its uploads are deleted.")
    expect(question).to_be_in_viewport(ratio=1)
    assert overflow(page) == 0

    question.get_by_role("button", name="Delete").click()

    expect(page.get_by_text("Source Short-lived deleted")).to_be_visible()
    expect(page.get_by_role("link", name="Short-lived")).to_have_count(0)


def test_reloading_the_page_that_shows_a_key_makes_no_second_one(new_page: NewPage) -> None:
    page = new_page("admin")
    make_source(page, "Reloaded")
    page.get_by_role("button", name="Generate API Key").click()
    expect(page.get_by_label("Your new key")).to_be_visible()

    page.reload()

    expect(page.get_by_text("has a key already")).to_be_visible()
    expect(page.get_by_label("Your new key")).to_have_count(0)


def test_an_unsure_click_on_regenerate_can_be_taken_back(new_page: NewPage) -> None:
    page = new_page("member")
    make_source(page, "Precious")
    page.get_by_role("button", name="Generate API Key").click()
    key = page.get_by_label("Your new key").inner_text()
    page.get_by_role("link", name="Done").click()

    page.get_by_role("button", name="Regenerate API Key").click()
    page.keyboard.press("Escape")

    expect(page.get_by_role("region", name="API key")).to_contain_text(key[:15])


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), *also_long((390, "light"), (1280, "light"))])
def test_the_pages_of_a_key_fit_and_are_named(new_page: NewPage, width: int, theme: str) -> None:
    page = new_page("owner", width=width, theme=theme)
    page.goto("/a/acme/connections/usage/new/")
    page.get_by_label("Name").fill(f"A source of a rather long name, {width} {theme}")
    page.get_by_role("button", name="Create source").click()
    page.get_by_role("button", name="Generate API Key").click()
    at_first = [*page.evaluate(FAULTS), overflow(page)]
    page.get_by_role("link", name="Done").click()
    after_keeping = [*page.evaluate(FAULTS), overflow(page)]
    page.goto("/a/acme/connections/usage/")
    list_faults = [*page.evaluate(FAULTS), overflow(page)]

    assert (at_first, after_keeping, list_faults) == ([0], [0], [0])

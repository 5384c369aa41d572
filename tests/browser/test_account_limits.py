"""Limits of an account in the admin console: the form with bounds and consequences, and the account's page; wide and on a phone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.cast import PASSWORD
from tests.servers import LiveServer

pytestmark = pytest.mark.browser


def add_operator() -> None:
    """In the server's process."""
    if not User.objects.filter(email="operator@example.com").exists():
        User.objects.create_superuser("operator@example.com", PASSWORD)


@pytest.mark.parametrize("width", [1280, 390])
def test_an_operator_changes_limits_and_the_account_has_them(
    new_page: NewPage, console: LiveServer, width: int
) -> None:
    console.run(f"{__name__}:add_operator")
    page = new_page("operator", width=width)
    page.goto("/admin/accounts/account/?q=elsewhere")
    page.get_by_role("link", name="Elsewhere", exact=True).click()
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("link", name="Change limits…").click()
    page.get_by_label("Syncs kept, days").fill("6")
    page.get_by_label("Lake memory, MB").fill("128")
    page.evaluate("document.querySelector('form.card').noValidate = true")
    page.get_by_role("button", name="Change limits").click()
    expect(page.get_by_text("Enter 7 to 1,100.")).to_be_visible()
    _look(page, f"limits-refused-{width}")
    page.get_by_label("Syncs kept, days").fill("365")
    page.get_by_role("button", name="Change limits").click()

    limits = page.get_by_role("table", name="Limits")
    expect(limits.get_by_role("row", name="Syncs kept, days 365 90")).to_be_visible()
    expect(limits.get_by_role("row", name="Lake memory, MB 128")).to_be_visible()
    _look(page, f"limits-{width}")


def _look(page: Page, name: str) -> None:
    assert page.evaluate(FAULTS) == []
    assert overflow(page) <= 0
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)

"""Identity providers of the whole service in the admin console, as an operator who acts sees them; wide and on a phone."""

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

LIST = "/admin/sso/identityprovider/"


def add_operator() -> None:
    """In the server's process."""
    if not User.objects.filter(email="operator@example.com").exists():
        User.objects.create_superuser("operator@example.com", PASSWORD)


@pytest.mark.parametrize("width", [1280, 390])
def test_an_operator_adds_edits_and_disables_a_provider(
    new_page: NewPage, console: LiveServer, width: int
) -> None:
    console.run(f"{__name__}:add_operator")
    page, name = new_page("operator", width=width), f"Staff {width}"
    page.goto(LIST)
    page.get_by_role("link", name="OpenID Connect").click()
    _look(page, f"provider-new-{width}")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Issuer URL").fill("https://login.example.com")
    page.get_by_label("Client ID").fill("console")
    page.get_by_label("Client secret").fill("never shown again")
    page.get_by_role("button", name="Add provider").click()

    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page.get_by_text("Redirect URI", exact=True)).to_be_visible()
    _look(page, f"provider-{width}")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Client secret")).to_have_value("")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Add client").click()
    page.get_by_label("Name").fill("Claude")
    page.get_by_label("Account", exact=True).fill("acme")
    _look(page, f"client-new-{width}")
    page.get_by_role("button", name="Add client").click()
    expect(page.get_by_label("Client secret", exact=True)).to_contain_text("fsas_")
    _look(page, f"client-secret-{width}")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("link", name="Claude")).to_be_visible()
    _look(page, f"provider-client-{width}")
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("link", name="Disable provider…").click()
    _look(page, f"provider-disable-{width}")
    page.get_by_role("button", name="Disable provider").click()
    expect(page.get_by_text("Disabled", exact=True)).to_be_visible()
    _look(page, f"provider-disabled-{width}")
    page.goto(LIST)
    _look(page, f"provider-list-{width}")


def _look(page: Page, name: str) -> None:
    assert page.evaluate(FAULTS) == []
    assert overflow(page) <= 0
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)

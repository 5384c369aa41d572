"""Service accounts as an admin sees them: from an empty list to a secret, rotated and deleted; wide and on a phone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow

pytestmark = pytest.mark.browser
LIST = "/a/acme/settings/service-accounts/"
PUBLIC_KEY = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_a_service_account_from_its_creation_to_its_end(new_page: NewPage, width: int) -> None:
    page = new_page("admin", width=width)
    page.goto(LIST)
    _look(page, f"list-empty-{width}")
    page.get_by_role("main").get_by_role("link", name="New service account").first.click()
    page.get_by_label("Name").fill("Nightly check")
    page.get_by_label("Read/write").check()
    _look(page, f"new-{width}")
    page.get_by_role("button", name="Create service account").click()
    secret = page.get_by_label("Client secret", exact=True)
    expect(secret).to_contain_text("fsas_")
    before = secret.inner_text()
    _look(page, f"secret-{width}")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("Nightly check").first).to_be_visible()
    _look(page, f"list-{width}")

    page.get_by_role("button", name="Rotate the secret of Nightly check").click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate secret").click()
    expect(secret).to_contain_text("fsas_")
    assert secret.inner_text() != before
    page.goto(LIST)
    page.get_by_role("link", name="Use a key for Nightly check").click()
    _look(page, f"key-{width}")
    page.get_by_label("Public key").fill(PUBLIC_KEY)
    page.get_by_role("button", name="Use this key").click()
    expect(page.get_by_text("Use the client ID and your private key")).to_be_visible()
    _look(page, f"signed-{width}")
    page.get_by_role("link", name="Done").click()
    page.get_by_role("link", name="Replace the key of Nightly check").click()
    _look(page, f"replace-{width}")
    page.goto("/a/acme/settings/connected-apps/")
    _look(page, f"apps-{width}")
    page.get_by_role("link", name="Manage Nightly check").click()

    page.get_by_role("button", name="Delete Nightly check").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Service account Nightly check deleted.")).to_be_visible()


def _look(page: Page, name: str) -> None:
    assert page.evaluate(FAULTS) == []
    assert overflow(page) <= 0
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder, f"service-{name}.png"), full_page=True)

"""The page Commitment purchase, whose question has no period."""

from __future__ import annotations

import pytest

from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser


def test_another_discount_asks_again(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/commitments/purchase/?discount_percent=30")

    page.locator("#discount_percent").fill("40")
    page.locator("#discount_percent").blur()

    page.wait_for_url("**discount_percent=40**")

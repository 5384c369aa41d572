"""Anomalies in chromium: from the overview to one, its chart, and what a person says of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from finops.lib import clock
from finops.lib.formats import dates
from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.servers import LiveServer

pytestmark = pytest.mark.browser


def test_a_person_finds_an_anomaly_and_says_that_it_was_expected(
    console: LiveServer, new_page: NewPage
) -> None:
    key = console.run("tests.browser.spike_account:spiky")
    page = new_page("spiky", width=1280)
    page.goto("/a/spiky/")
    tile = page.get_by_role("region", name="Open anomalies (1)")
    expect(tile).to_contain_text("vs. expected")
    tile.get_by_role("link", name="Resource: vm-1").click()

    page.wait_for_url(f"**/anomalies/{key}/")
    expect(page.locator("[data-chart][data-drawn]")).to_have_count(1)
    expect(page.get_by_role("region", name="By resource").first).to_contain_text("vm-1")
    assert page.evaluate(FAULTS) == []
    page.get_by_text("View data").click()
    day = dates.day(clock.today() - timedelta(days=10))
    expect(page.get_by_role("row", name=f"{day} $")).to_be_visible()

    page.get_by_label("Note").fill("Load test")
    page.get_by_role("button", name="Mark as expected").click()
    expect(page.get_by_text("Marked as expected.")).to_be_visible()
    page.goto("/a/spiky/anomalies/?state=expected")
    expect(page.get_by_role("link", name="Resource: vm-1")).to_be_visible()

    narrow = new_page("spiky", width=390, theme="dark")
    for path in (f"/a/spiky/anomalies/{key}/", "/a/spiky/anomalies/?state=all"):
        narrow.goto(path)
        expect(narrow.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
        assert overflow(narrow) == 0
        assert narrow.evaluate(FAULTS) == []

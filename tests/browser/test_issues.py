"""A saving handed to GitHub as a person does it: a tracker, its test, an issue, and what closing it says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.test_alerts import confirm
from tests.browser.test_pages import FAULTS, overflow
from tests.finops.connections.replay_server import replay_server
from tests.finops.issues.fake_trackers import SECRET, FakeGitHub
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

NAME = "The repository of everybody who has to do with infrastructure"


@pytest.mark.parametrize("width", [1280, *also_long(390)])
def test_a_saving_becomes_an_issue_whose_state_it_follows(
    console: LiveServer, new_page: NewPage, width: int
) -> None:
    base = f"/a/issues-{width}/"
    console.run("tests.browser.issue_steps:account_with_saving", f"issues-{width}")
    page = new_page("member", width=width)
    with replay_server() as replay:
        fake = FakeGitHub(replay, now=datetime.now(UTC))
        page.goto(f"{base}savings/")
        page.get_by_role("link", name="Issue trackers").click()
        page.get_by_role("link", name="New tracker").first.click()
        page.get_by_role("link", name="GitHub").click()
        page.get_by_label("Name").fill(NAME)
        page.get_by_label("Repository").fill("acme/infra")
        page.get_by_label("Server").fill(fake.url)
        page.get_by_label("Fine-grained token").fill(SECRET)
        assert page.evaluate(FAULTS) == []
        assert overflow(page) == 0
        page.get_by_role("button", name="Create tracker").click()
        fake.may_write = False
        page.get_by_role("button", name="Test connection").click()
        expect(page.get_by_text("1 of 3 checks failed.")).to_be_visible()
        fake.may_write = True
        page.get_by_role("button", name="Test connection").click()
        expect(page.get_by_text("The connection works.")).to_be_visible()
        assert page.evaluate(FAULTS) == []
        assert overflow(page) == 0

        page.goto(f"{base}savings/")
        page.locator("th a[href*='/savings/sav_']").first.click()
        page.get_by_role("button", name="Create issue").click()
        expect(page.get_by_text("Being created", exact=True)).to_be_visible()
        console.run("tests.browser.issue_steps:work")
        expect(page.get_by_role("link", name=f"{NAME} #1")).to_be_visible()
        assert page.evaluate(FAULTS) == []
        assert overflow(page) == 0

        saving = page.url
        fake.now = datetime.now(UTC)
        fake.close("completed")
        page.goto(f"{base}issue-trackers/")
        page.get_by_role("link", name=NAME).click()
        page.get_by_role("button", name="Update statuses").click()
        console.run("tests.browser.issue_steps:work")
        page.goto(saving)
        expect(page.get_by_text("Done, to be verified")).to_be_visible()
        page.goto(f"{base}savings/")
        expect(page.get_by_text("Done, to be verified")).to_be_visible()
        assert overflow(page) == 0

        page.goto(f"{base}issue-trackers/")
        page.get_by_role("link", name=NAME).click()
        expect(page.get_by_text("Done, to be verified")).to_be_visible()
        assert overflow(page) == 0
        confirm(page, "Delete")
        expect(page.get_by_text("Its issues stay in the tracker")).to_be_visible()
    assert fake.creations == 1

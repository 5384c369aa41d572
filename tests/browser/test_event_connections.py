"""A connection of change events, from the wizard to the list of what its first sync brought."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from finops.lib import clock
from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.finops.connections.change_events.code_hosts import GITHUB_TOKEN, REPOSITORY, GitHubHost
from tests.finops.connections.replay_server import replay_server
from tests.servers import LiveServer

pytestmark = pytest.mark.browser


def assert_fits(page: Page) -> None:
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_deployments_of_github_are_connected_and_listed(
    new_page: NewPage, console: LiveServer, width: int
) -> None:
    page = new_page("member", width=width)
    with replay_server() as replay:
        host = GitHubHost(replay, prefix="/api/v3")
        host.add_deployment(40 + width, clock.now(), "success")
        page.goto("/a/acme/connections/new/?connector=github")
        assert_fits(page)
        page.locator("#id_name").fill(f"GitHub {width}")
        page.locator("#id_repositories").fill(f"{REPOSITORY} service=Amazon ECS; tag:team=payments")
        page.locator("#id_token").fill(GITHUB_TOKEN)
        page.locator("#id_url").fill(replay.url)
        page.get_by_role("button", name="Test connection").click()
        expect(page.get_by_role("heading", name="Connection works")).to_be_visible()
        assert_fits(page)
        page.get_by_role("button", name="Add connection").click()
        expect(page.get_by_role("heading", name="Waiting for a worker")).to_be_visible()
        console.run("tests.browser.people:run_syncs")
        expect(page.get_by_role("heading", name="Done 1 month imported, 12 without data")).to_be_visible()
    page.get_by_role("link", name="View events").click()
    expect(page.get_by_text("checkout main to production: success")).to_be_visible()
    page.goto("/a/acme/connections/events/")
    assert_fits(page)
    page.get_by_role("link", name=f"GitHub {width}").click()
    expect(page.get_by_text("It has no API key")).to_be_visible()
    assert_fits(page)

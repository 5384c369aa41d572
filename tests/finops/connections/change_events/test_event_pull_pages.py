"""Pages of an event source that is pulled: the wizard, its page, syncs and settings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from accounts.scoping import account_scope
from finops.connections.models import CostConnection, CostSync
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.change_events.code_hosts import (
    GITHUB_TOKEN,
    REPOSITORY,
    GitHubHost,
    connect,
    march_time,
)
from tests.finops.connections.replay_server import ReplayServer
from tests.finops.connections.syncs.sync_steps import sync_now


@pytest.fixture
def github(replay: ReplayServer) -> Iterator[GitHubHost]:
    with clock.frozen(NOON):
        host = GitHubHost(replay, prefix="/api/v3")
        host.add_release(2, march_time("12T09:30"))
        yield host


def client_of(cast: Cast, name: str = "member") -> Client:
    client = Client()
    client.force_login(cast.person(name))
    return client


def test_the_wizard_makes_an_event_source_and_its_first_sync(cast: Cast, github: GitHubHost) -> None:
    client, url = client_of(cast), f"/a/{cast.account.slug}/connections/new/?connector=github"
    catalog = client.get(f"/a/{cast.account.slug}/connections/new/?q=github").content.decode()
    form = client.get(url).content.decode()
    values = {
        "name": "Shop",
        "repositories": f"{REPOSITORY} service=Amazon ECS",
        "access": "token",
        "token": GITHUB_TOKEN,
        "releases": "on",
        "url": github.replay.url,
        "first_month": "",
        "interval_minutes": "60",
    }
    response = client.post(url, values)
    wrong = client.post(url, {**values, "repositories": "checkout"})

    assert "Change events" in catalog
    assert "Personal access token" in form
    assert response.status_code == 302, response.content.decode()
    assert (wrong.status_code, "is no repository" in wrong.content.decode()) == (422, True)
    with account_scope(cast.account):
        sync = CostSync.objects.get()
    assert f"/connections/syncs/{sync.pk}/" in response.url  # type: ignore[attr-defined]


def test_its_page_says_how_it_is_pulled_and_that_it_has_no_key(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast, url=github.replay.url, deployments=False, pull_requests=False)
    with account_scope(cast.account):
        sync = sync_now(connection)
    base, client = f"/a/{cast.account.slug}/connections/events/{connection.target_id}/", client_of(cast)
    page = client.get(base).content.decode()
    sync_page = client.get(f"/a/{cast.account.slug}/connections/syncs/{sync.pk}/").content.decode()
    listing = client.get(f"/a/{cast.account.slug}/connections/events/").content.decode()

    assert "It has no API key" in page
    assert "checkout Version 2" in page
    assert "Generate" not in page
    assert f"{base}edit/" in page
    assert f"/events/?source={connection.target_id}" in sync_page
    assert "View events" in sync_page
    assert "Pull from a vendor" in listing
    for part in ("edit/", "syncs/"):
        answer = client.get(base + part)
        assert answer.status_code == 200
        assert GITHUB_TOKEN not in answer.content.decode()
    assert client.post(f"{base}pause/").status_code == 302
    with account_scope(cast.account):
        assert CostConnection.objects.get().paused_at is not None
    assert client.post(f"{base}resume/").status_code == 302
    assert client.post(f"{base}sync/").status_code == 302
    assert client.get(f"/a/{cast.account.slug}/connections/").status_code == 200


def test_strangers_find_nothing_and_viewers_change_nothing(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast, url=github.replay.url)
    base = f"/a/{cast.account.slug}/connections/events/{connection.target_id}/"
    elsewhere = f"/a/{cast.other_account.slug}/connections/events/{connection.target_id}/"

    for part in ("", "syncs/"):
        assert client_of(cast, "viewer").get(base + part).status_code == 200
        assert client_of(cast, "stranger").get(base + part).status_code == 404
        assert client_of(cast, "stranger").get(elsewhere + part).status_code == 404
    for part in ("sync/", "pause/", "resume/"):
        assert client_of(cast, "viewer").post(base + part).status_code == 403
        assert client_of(cast, "stranger").post(elsewhere + part).status_code == 404

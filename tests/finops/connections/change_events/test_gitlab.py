"""GitLab as a source of change events, from a server that answers as its API does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.connections import services
from finops.connections.models import CostConnection, CostSync
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.change_events.code_hosts import (
    GITLAB_TOKEN,
    SCOPE,
    GitLabHost,
    march_time,
    metered_count,
    titles,
)
from tests.finops.connections.replay_server import ReplayServer
from tests.finops.connections.syncs.sync_steps import actions, sync_now

pytestmark = pytest.mark.django_db(transaction=True)

PROJECT = "acme/shop/checkout"
WEB = f"https://gitlab.example.com/{PROJECT}"


@pytest.fixture
def gitlab(replay: ReplayServer) -> Iterator[GitLabHost]:
    """In March: a deployment with a pipeline and one without, a release and one that is planned, a merged merge request."""
    with clock.frozen(NOON):
        host = GitLabHost(replay)
        author = {"id": 1, "username": "root", "name": "Administrator"}
        host.deployments = [
            {
                "id": 42,
                "iid": 2,
                "created_at": "2026-03-12T11:00:00.123+01:00",
                "updated_at": "2026-03-12T11:04:00.000+01:00",
                "status": "running",
                "ref": "main",
                "sha": "a91957a858320c0e17f3a0eca7cfacbff50ea29a",
                "environment": {"id": 9, "name": "production", "external_url": None},
                "user": author,
                "deployable": {"id": 664, "pipeline": {"id": 37, "web_url": f"{WEB}/-/pipelines/37"}},
            },
            {
                "id": 41,
                "iid": 1,
                "created_at": "2026-03-11T10:00:00.000Z",
                "status": "failed",
                "ref": "a91957a858320c0e17f3a0eca7cfacbff50ea29a",
                "environment": {"id": 10, "name": "review/login"},
                "user": author,
                "deployable": None,
            },
        ]
        host.releases = [
            {"tag_name": "v2", "name": "Later", "released_at": "2026-05-01T00:00:00.000Z", "author": author},
            {
                "tag_name": "v1",
                "name": "",
                "released_at": "2026-03-13T09:00:00.000Z",
                "author": author,
                "_links": {"self": f"{WEB}/-/releases/v1"},
            },
        ]
        host.merge_requests = [
            {
                "id": 901,
                "iid": 12,
                "title": "Cache carts",
                "state": "merged",
                "updated_at": "2026-03-19T09:00:00.000Z",
                "merged_at": "2026-03-14T09:00:00.000Z",
                "author": author,
                "web_url": f"{WEB}/-/merge_requests/12",
            }
        ]
        yield host


def connect(cast: Cast, host: GitLabHost, **more: object) -> CostConnection:
    values = {"projects": f"{PROJECT} service=Amazon ECS; tag:team=payments", "token": GITLAB_TOKEN}
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="GitLab",
        connector="gitlab",
        values=values | {"url": host.replay.url} | more,
    )


def sync(cast: Cast, connection: CostConnection) -> CostSync:
    with account_scope(cast.account):
        return sync_now(connection)


def test_deployments_releases_and_merged_merge_requests_become_events(cast: Cast, gitlab: GitLabHost) -> None:
    connection = connect(cast, gitlab)
    first, again = sync(cast, connection), sync(cast, connection)

    assert (first.status, first.error) == ("done", "")
    assert set(actions(again).values()) == {"unchanged"}
    assert titles(cast) == [
        "checkout a91957a to review/login: failed",
        "checkout main to production: running",
        "checkout v1",
        "checkout !12: Cache carts",
    ]
    assert metered_count(cast) == 4
    with account_scope(cast.account):
        events = {each.external_id: each for each in ChangeEvent.objects.all()}
    assert events["deployment/42"].occurred_at == march_time("12T10:00") + timedelta(milliseconds=123)
    assert events["deployment/42"].url == f"{WEB}/-/pipelines/37"
    assert events["deployment/41"].url == f"{WEB}/-/environments"
    assert events["release/7/v1"].url == f"{WEB}/-/releases/v1"
    assert all((each.actor, each.scope) == ("root", SCOPE) for each in events.values())


def test_a_status_changes_in_place_and_a_deployment_that_is_gone_is_removed(
    cast: Cast, gitlab: GitLabHost
) -> None:
    connection = connect(cast, gitlab)
    sync(cast, connection)
    gitlab.deployments = [{**gitlab.deployments[0], "status": "success"}]
    sync(cast, connection)

    assert titles(cast)[0] == "checkout main to production: success"
    assert metered_count(cast) == 3


def test_unchanged_lines_are_not_sent_again(cast: Cast, gitlab: GitLabHost) -> None:
    connection = connect(cast, gitlab)
    sync(cast, connection)
    before = len(gitlab.charged)
    sync(cast, connection)

    assert len(gitlab.charged) == before


def test_environments_choose_deployments(cast: Cast, gitlab: GitLabHost) -> None:
    sync(cast, connect(cast, gitlab, environments="Production", releases=False, merge_requests=False))

    assert titles(cast) == ["checkout main to production: running"]


def test_a_limit_that_is_reached_waits_until_it_is_reset(
    cast: Cast, gitlab: GitLabHost, sleeps: list[float]
) -> None:
    connection = connect(cast, gitlab)
    gitlab.limit = 2
    failed = sync(cast, connection)

    assert "GitLab's rate limit is reached." in failed.error
    assert sleeps == []
    assert connection.next_sync_at >= NOON + timedelta(minutes=30)


def test_the_check_names_the_project_that_the_token_does_not_see(cast: Cast, gitlab: GitLabHost) -> None:
    values = {"projects": f"{PROJECT}\nacme/gone", "token": GITLAB_TOKEN, "url": gitlab.replay.url}
    good = services.check_config(account=cast.account, connector="gitlab", values=values)
    wrong = {**values, "token": "glpat-wrong-0123456789"}
    bad = services.check_config(account=cast.account, connector="gitlab", values=wrong)

    assert [each.is_ok for each in good] == [True, True, True, True, False]
    assert "GitLab shows no trace of acme/gone" in good[-1].fix
    assert "Create an access token with the scope read_api" in bad[0].fix
    assert "glpat-wrong" not in str(bad)

"""GitHub as a source of change events, from a server that answers as its API does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent, EventSource
from finops.change_events.services.keys import generate_event_key
from finops.change_events.services.sources import delete_event_source
from finops.connections import services
from finops.connections.models import ConnectionPageCache, CostConnection, CostSync
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.factories.days import NOON
from tests.finops.connections.change_events.code_hosts import (
    GITHUB_TOKEN,
    REPOSITORY,
    SCOPE,
    GitHubHost,
    connect,
    march_time,
    metered_count,
    titles,
)
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def github(replay: ReplayServer, settings: Settings) -> Iterator[GitHubHost]:
    """A release, two deployments, a merged pull request and one that was closed, in March; a release in February."""
    settings.CONNECTOR_BASE_URLS = {"github": replay.url}
    with clock.frozen(NOON):
        host = GitHubHost(replay)
        host.add_release(1, datetime(2026, 2, 10, 8, tzinfo=UTC))
        host.add_release(2, march_time("12T09:30"))
        host.add_release(3, march_time("13T09:30"), draft=True)
        host.add_deployment(40, march_time("12T10:00"), "in_progress", "success", "inactive")
        host.add_deployment(
            41, march_time("14T10:00"), "in_progress", ref="a84d88e7554fc1fa21bcbc4efae3c782a70d2b9d"
        )
        host.add_pull(6, march_time("11T10:00"))
        host.add_pull(7, None)
        yield host


MARCH = [
    "checkout #6: Change 6",
    "checkout Version 2",
    "checkout main to production: success",
    "checkout a84d88e to production: in_progress",
]


def sync(cast: Cast, connection: CostConnection) -> CostSync:
    with account_scope(cast.account):
        return sync_now(connection)


def test_deployments_releases_and_merged_pull_requests_become_events(cast: Cast, github: GitHubHost) -> None:
    sync_run = sync(cast, connect(cast))

    assert (sync_run.status, sync_run.error) == ("done", "")
    assert titles(cast) == ["checkout Version 1", *MARCH]
    assert (sync_run.rows, metered_count(cast)) == (5, 5)
    with account_scope(cast.account):
        deployment = ChangeEvent.objects.get(external_id="deployment/40")
        assert {each.kind for each in ChangeEvent.objects.all()} == {"deployment", "release", "change"}
        assert all(each.scope == SCOPE for each in ChangeEvent.objects.all())
    assert (deployment.occurred_at, deployment.actor) == (march_time("12T10:00"), "deploy-bot[bot]")
    assert deployment.url == f"https://github.com/{REPOSITORY}/actions/runs/40"


def test_a_period_that_is_read_twice_counts_once(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    again = sync(cast, connection)
    with account_scope(cast.account):
        connection.periods.all().delete()
        before = set(ChangeEvent.objects.values_list("pk", flat=True))
    third = sync(cast, connection)

    assert set(actions(again).values()) == {"unchanged"}
    assert actions(third)["2026-03"] == "imported"
    assert metered_count(cast) == 5
    with account_scope(cast.account):
        assert set(ChangeEvent.objects.values_list("pk", flat=True)) == before


def test_a_status_that_changes_changes_its_event_in_place(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    github.add_status(41, "failure")
    changed = sync(cast, connection)

    assert actions(changed)["2026-03"] == "imported"
    assert actions(changed)["2026-02"] == "unchanged"
    assert titles(cast)[-1] == "checkout a84d88e to production: failure"
    assert metered_count(cast) == 5


def test_events_deleted_at_github_are_removed_and_stay_in_the_meter(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    github.releases = [each for each in github.releases if each["id"] != 2]
    sync(cast, connection)

    assert titles(cast) == ["checkout Version 1", *(each for each in MARCH if each != "checkout Version 2")]
    assert metered_count(cast) == 4


def test_a_list_that_fails_removes_nothing(cast: Cast, github: GitHubHost, sleeps: list[float]) -> None:
    connection = connect(cast)
    sync(cast, connection)
    del github.replay.routes[f"/repos/{REPOSITORY}/releases"]
    failed = sync(cast, connection)

    assert failed.status == "failed"
    assert "GitHub shows no releases of acme/checkout. Check its name" in failed.error
    assert titles(cast) == ["checkout Version 1", *MARCH]


def test_a_release_that_moves_to_another_month_is_one_event(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    release = next(each for each in github.releases if each["id"] == 2)
    release["published_at"] = "2026-02-20T09:30:00Z"
    sync(cast, connection)

    with account_scope(cast.account):
        assert ChangeEvent.objects.get(external_id="release/2").occurred_at == datetime(
            2026, 2, 20, 9, 30, tzinfo=UTC
        )
    assert metered_count(cast) == 5


def test_environments_choose_deployments(cast: Cast, github: GitHubHost) -> None:
    github.add_deployment(42, march_time("15T10:00"), "success", environment="Preview")
    sync(cast, connect(cast, environments="preview, staging", releases=False, pull_requests=False))

    assert titles(cast) == ["checkout main to Preview: success"]


def test_many_pages_are_read_and_older_months_are_those_of_their_events(
    cast: Cast, github: GitHubHost
) -> None:
    github.pulls = []
    for number in range(250):
        github.add_pull(
            1_000 + number, march_time("01T00:00") - timedelta(days=100) + timedelta(hours=12 * number)
        )
    sync(cast, connect(cast, deployments=False, releases=False))

    assert len(titles(cast)) == 250
    assert metered_count(cast) == 250


# The limit of requests


def test_a_listing_at_what_has_not_changed_costs_no_request_of_the_limit(
    cast: Cast, github: GitHubHost
) -> None:
    connection = connect(cast)
    sync(cast, connection)
    before, requests = len(github.charged), len(github.replay.requests)
    again = sync(cast, connection)

    assert set(actions(again).values()) == {"unchanged"}
    assert len(github.charged) == before
    # Releases, deployments, pull requests, the one status that may still change.
    assert len(github.replay.requests) - requests == 4


def test_a_page_that_changed_is_the_only_one_that_costs(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    before = len(github.charged)
    github.add_release(4, march_time("16T09:30"))
    sync(cast, connection)

    assert [each.partition("?")[0] for each in github.charged[before:]] == [f"/repos/{REPOSITORY}/releases"]
    assert titles(cast)[-1] == "checkout Version 4"


def test_pages_of_one_token_are_not_requested_with_another(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    github.tokens = {"github_pat_other_0123456789"}
    with account_scope(cast.account):
        services.change_connection(
            connection=connection,
            actor=cast.actor,
            values={**connection.config, "token": "github_pat_other_0123456789"},
            interval_minutes=60,
            first_month=None,
        )
    requests = len(github.replay.requests)
    sync_run = sync(cast, connection)

    assert sync_run.status == "done"
    assert not [each for each in github.replay.requests[requests:] if "if-none-match" in each.headers]


def test_a_limit_that_is_reached_waits_until_it_is_reset_and_continues(
    cast: Cast, github: GitHubHost, sleeps: list[float]
) -> None:
    connection = connect(cast)
    github.limit = 3
    failed = sync(cast, connection)

    assert failed.status == "failed"
    assert "GitHub's rate limit is reached." in failed.error
    assert sleeps == []
    assert connection.next_sync_at >= NOON + timedelta(minutes=30)
    request_count = len(github.charged)
    github.limit = 5_000
    with clock.frozen(NOON + timedelta(hours=1)):
        sync_run = sync(cast, connection)
    assert (sync_run.status, sync_run.error) == ("done", "")
    assert len(titles(cast)) == 5
    lists = [each.partition("?")[0] for each in github.charged]
    assert lists.count(f"/repos/{REPOSITORY}/deployments") == 1, f"{request_count} were paid for before"


def test_a_secondary_limit_without_a_time_waits_a_minute(
    cast: Cast, github: GitHubHost, sleeps: list[float]
) -> None:
    message = {"message": "You have exceeded a secondary rate limit. Please wait."}
    github.replay.faults = [Reply.of_json(message, 403)]
    sync_run = sync(cast, connect(cast))

    assert sync_run.status == "done"
    assert 60 <= sum(sleeps) <= 70


# Access


def test_an_app_signs_in_with_its_key(cast: Cast, github: GitHubHost) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    claims = []

    def token(request: ReplayRequest) -> Reply:
        text, _dot, signature = request.headers["authorization"].removeprefix("Bearer ").rpartition(".")
        key.public_key().verify(_decode(signature), text.encode(), padding.PKCS1v15(), SHA256())
        claims.append(json.loads(_decode(text.split(".")[1])))
        github.tokens = {"ghs_installation"}
        return Reply.of_json({"token": "ghs_installation", "expires_at": "2026-03-20T13:00:00Z"}, 201)

    github.replay.routes["/app/installations/77/access_tokens"] = token
    app: dict[str, object] = {
        "access": "app",
        "app_id": "12",
        "installation_id": "77",
        "private_key": pem,
        "token": "",
    }
    sync_run = sync(cast, connect(cast, **app))

    assert (sync_run.status, sync_run.error) == ("done", "")
    assert len(titles(cast)) == 5
    assert claims[0]["iss"] == "12"
    assert claims[0]["exp"] - claims[0]["iat"] <= 600


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_server_of_ones_own_is_asked_beneath_its_path(cast: Cast, replay: ReplayServer) -> None:
    with clock.frozen(NOON):
        host = GitHubHost(replay, prefix="/api/v3")
        host.add_release(2, march_time("12T09:30"))
        sync_run = sync(cast, connect(cast, url=replay.url))

    assert sync_run.status == "done"
    assert titles(cast) == ["checkout Version 2"]


def test_a_server_in_a_private_network_is_refused(
    cast: Cast, replay: ReplayServer, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []
    values = {"repositories": REPOSITORY, "token": GITHUB_TOKEN, "url": "https://10.0.0.7"}
    findings = services.check_config(account=cast.account, connector="github", values=values)

    assert not findings[-1].is_ok
    assert "10.0.0.7 is in a private or reserved network" in findings[-1].fix
    assert replay.requests == []


def test_the_check_tries_each_permission_and_shows_no_token(cast: Cast, github: GitHubHost) -> None:
    values = {"repositories": f"{REPOSITORY}\nacme/gone", "token": GITHUB_TOKEN}
    good = services.check_config(account=cast.account, connector="github", values=values)
    wrong = {**values, "token": "github_pat_wrong_0123456789"}
    bad = services.check_config(account=cast.account, connector="github", values=wrong)

    assert [(each.title, each.is_ok) for each in good] == [
        ("Read the credential", True),
        ("Read deployments of acme/checkout", True),
        ("Read releases of acme/checkout", True),
        ("Read pull requests of acme/checkout", True),
        ("Read acme/gone", False),
    ]
    assert "is not accepted" in bad[-1].fix
    assert "Create a fine-grained token" in bad[-1].fix
    assert "github_pat_wrong" not in str(bad)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"repositories": "checkout"}, "'checkout' is no repository. For example: acme/checkout"),
        ({"repositories": "acme/checkout payments"}, "'payments' is no scope. Write dimension=value"),
        ({"repositories": "acme/checkout servise=EC2"}, "'servise' is none. Nearest: service"),
        ({"repositories": "acme/checkout\nAcme/Checkout"}, "appears twice"),
        ({"token": ""}, "nter the personal access token"),
        ({"access": "app"}, "Enter the app ID."),
        ({"deployments": False, "releases": False, "pull_requests": False}, "hoose a kind of events"),
        ({"url": "https://user@example.com"}, "Server URL is not valid"),
    ],
)
def test_a_setting_that_is_wrong_says_what_to_enter(
    cast: Cast, values: dict[str, object], problem: str
) -> None:
    with pytest.raises(UserError) as error:
        connect(cast, **values)

    assert problem in error.value.message.replace("“", "'").replace("”", "'")
    with account_scope(cast.account):
        assert not EventSource.objects.exists()


# The source


def test_a_vendors_text_that_is_too_long_or_no_address_is_cut_and_not_rejected(
    cast: Cast, github: GitHubHost
) -> None:
    github.add_release(5, march_time("17T09:30"), name="x" * 500, html_url="javascript:alert(1)")
    sync_run = sync(cast, connect(cast))

    assert "rejected" not in str(sync_run.periods)
    with account_scope(cast.account):
        event = ChangeEvent.objects.get(external_id="release/5")
    assert (len(event.title), event.url) == (200, "")


def test_an_event_that_no_rule_takes_is_rejected_alone(cast: Cast, github: GitHubHost) -> None:
    github.add_release(5, march_time("17T09:30"), name="bad \x00 name")
    sync_run = sync(cast, connect(cast))

    assert "1 events were rejected. First reason: title must be" in str(sync_run.periods)
    assert len(titles(cast)) == 5


def test_a_source_that_pulls_has_no_key_and_goes_whole(cast: Cast, github: GitHubHost) -> None:
    connection = connect(cast)
    sync(cast, connection)
    source = connection.event_source
    assert source is not None
    with account_scope(cast.account):
        assert ConnectionPageCache.objects.exists()
        with pytest.raises(UserError, match="pulls events with a vendor's credential and has no API key"):
            generate_event_key(source=source, actor=ACTOR)
        delete_event_source(source=source, actor=ACTOR)

        for model in (EventSource, ChangeEvent, CostConnection, CostSync, ConnectionPageCache):
            assert not model.objects.exists()


def test_a_connection_belongs_to_its_account_alone(cast: Cast, github: GitHubHost) -> None:
    sync(cast, connect(cast))

    with account_scope(cast.other_account):
        for model in (EventSource, ChangeEvent, CostConnection, CostSync, ConnectionPageCache):
            assert not model.objects.exists()

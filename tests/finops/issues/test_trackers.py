"""Issue trackers: made, changed, tested and deleted, and what their credential may never do."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from pytest_django import Settings

from accounts.models import Account, AuditEntry
from finops.issues import services
from finops.issues.models import IssueTracker
from finops.issues.tracker_configs import GitHubConfig, LinearConfig, is_sealed_now, secret_of
from finops.issues.vendors.client import TrackerRefusal, TrackerUnavailable
from finops.issues.vendors.github import GitHubClient, api_url
from finops.issues.vendors.linear import LinearClient
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.outbound import use_resolver
from tests.cast import ACTOR, Cast, signed_in
from tests.finops.connections.replay_server import Reply
from tests.finops.issues.fake_trackers import SECRET, FakeGitHub, FakeJira, FakeTracker
from tests.finops.issues.steps import add_tracker, issue_of, reload, run_polls


def public_names() -> AbstractContextManager[None]:
    """Every name leads to a public address."""
    return use_resolver(lambda _host, _port: ["93.184.215.14"])


def create(account: Account, kind: str, config: dict[str, object], secret: str = SECRET) -> IssueTracker:
    return services.create_tracker(
        account=account, actor=ACTOR, name=f"{kind} one", kind=kind, config=config, secret=secret
    )


def labels(fake: FakeTracker, tracker: IssueTracker) -> dict[str, str]:
    findings = services.test_tracker(tracker=tracker, actor=ACTOR)
    assert fake.creations == 0
    return {each.label: each.problem for each in findings if not each.ok}


# Test connection


def test_a_tracker_that_works_has_no_finding(tracker: IssueTracker, fake: FakeTracker) -> None:
    assert labels(fake, tracker) == {}
    tracker.refresh_from_db()
    assert tracker.tested_at == clock.now()


def test_a_wrong_credential_is_named(tracker: IssueTracker, fake: FakeTracker) -> None:
    fake.token = "another"

    (problem,) = labels(fake, tracker).values()
    assert "does not accept the credential. It may be mistyped, revoked or expired." in problem
    assert "new" in problem.casefold()


def test_a_repository_project_or_team_that_is_not_there_is_named(
    tracker: IssueTracker, fake: FakeTracker
) -> None:
    fake.is_there = False

    ((label, problem),) = labels(fake, tracker).items()
    names = {"github": ("Repository", "acme/infra"), "jira": ("Project", "OPS"), "linear": ("Team", "ENG")}
    assert (label, names[fake.kind][1] in problem) == (names[fake.kind][0], True)


def test_a_token_that_may_not_create_issues_is_named(tracker: IssueTracker, fake: FakeTracker) -> None:
    fake.may_write = False
    problems = labels(fake, tracker)

    if fake.kind == "linear":
        # Nothing that Linear answers tells it without creating an issue.
        assert problems == {}
    else:
        ((label, problem),) = problems.items()
        assert label == "Permission to create issues"
        assert "Issues: Read and write" in problem if fake.kind == "github" else "Create issues" in problem


def test_a_tracker_that_is_away_is_no_error_of_the_page(tracker: IssueTracker, fake: FakeTracker) -> None:
    fake.replay.faults = [Reply.of_json({}, 503)]

    (problem,) = labels(fake, tracker).values()
    assert "HTTP 503" in problem


@pytest.mark.parametrize("fake", ["github"], indirect=True)
def test_issues_that_are_turned_off_are_named(tracker: IssueTracker, fake: FakeGitHub) -> None:
    fake.has_issues = False

    assert labels(fake, tracker) == {
        "Issues": "Issues are turned off in the repository. Turn them on in its settings."
    }


@pytest.mark.parametrize("fake", ["jira"], indirect=True)
def test_issue_types_and_required_fields_of_jira_are_named(
    tracker: IssueTracker, fake: FakeJira, acme: Account
) -> None:
    fake.required = "Cost center"
    assert labels(fake, tracker) == {
        "Required fields": (
            "The issue type requires 'Cost center'. Choose another type, or make it optional."
        )
    }

    services.change_tracker(
        tracker=tracker, actor=ACTOR, name="Work", config={**fake.config(), "issue_type": "Tasc"}
    )
    tracker.refresh_from_db()
    assert labels(fake, tracker) == {
        "Issue type": ("The project does not have the issue type 'Tasc'. It has 'Task'.")
    }


def test_a_test_is_not_repeated_without_end(tracker: IssueTracker) -> None:
    for _ in range(10):
        services.test_tracker(tracker=tracker, actor=ACTOR)

    with pytest.raises(UserError, match="10 tracker tests within a minute"):
        services.test_tracker(tracker=tracker, actor=ACTOR)


@pytest.mark.parametrize("fake", ["linear"], indirect=True)
def test_linear_asks_for_fewer_requests_with_400(fake: FakeTracker, acme: Account) -> None:
    reset = str(int((clock.now().timestamp() + 1_800) * 1_000))
    reply = fake.problem("RATELIMITED", "Rate limit exceeded", 400, X_RateLimit_Requests_Reset=reset)  # type: ignore[attr-defined]
    fake.replay.faults = [reply]

    with pytest.raises(TrackerUnavailable) as error:
        LinearClient(LinearConfig(team_key="ENG"), SECRET).changes(["a"], [], {})
    assert 1_799 <= error.value.retry_after <= 1_801


@pytest.mark.parametrize("fake", ["github"], indirect=True)
def test_github_limits_with_403(fake: FakeTracker, acme: Account) -> None:
    client = GitHubClient(GitHubConfig(repository="acme/infra", server_url=fake.url), SECRET)
    limit = {"x-ratelimit-remaining": "0"}
    fake.replay.faults = [Reply.of_json({"message": "API rate limit exceeded"}, 403, **limit)]

    with pytest.raises(TrackerUnavailable, match="rate limiting requests"):
        client.changes(["1"], [], {"since": "2026-03-01T00:00:00+00:00"})
    fake.replay.faults = [Reply.of_json({"message": "Resource not accessible"}, 403)]
    with pytest.raises(TrackerRefusal, match="Issues: Read and write"):
        client.changes(["1"], [], {"since": "2026-03-01T00:00:00+00:00"})


def test_each_kind_of_github_has_its_api(settings: Settings) -> None:
    urls = {
        "": "https://api.github.com",
        "https://github.example.com": "https://github.example.com/api/v3",
        "https://acme.ghe.com": "https://api.acme.ghe.com",
    }
    assert {url: api_url(GitHubConfig(repository="a/b", server_url=url)) for url in urls} == urls


# What people enter


@pytest.mark.parametrize(
    ("kind", "config", "field"),
    [
        ("github", {"repository": "infra"}, "repository"),
        ("github", {"repository": "acme/../users"}, "repository"),
        ("github", {"repository": "acme/.."}, "repository"),
        ("github", {"repository": "acme/infra?x"}, "repository"),
        ("jira", {"site_url": "", "email": "a@b.com", "project_key": "OPS"}, "site_url"),
        (
            "jira",
            {"site_url": "https://x.example", "email": "a@b.com", "project_key": 'O" OR x'},
            "project_key",
        ),
        ("jira", {"site_url": "https://x.example", "email": "a b", "project_key": "OPS"}, "email"),
        ("linear", {"team_key": "E N"}, "team_key"),
    ],
)
def test_a_malformed_value_has_its_error_at_its_field(
    acme: Account, kind: str, config: dict[str, object], field: str
) -> None:
    with public_names(), pytest.raises(UserError) as error:
        create(acme, kind, config)
    assert error.value.field == field
    assert not IssueTracker.objects.exists()


@pytest.mark.parametrize("secret", ["", "  ", "a b", "a\r\nX-Evil: 1", "é", "x" * 2_001])
def test_a_token_that_is_no_header_is_refused(acme: Account, secret: str) -> None:
    with pytest.raises(UserError) as error:
        create(acme, "linear", {"team_key": "ENG"}, secret)
    assert error.value.field == "secret"


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "127.0.0.1:8000", "10.0.0.7", "localhost", "[::1]", "metadata.internal"]
)
@pytest.mark.parametrize("kind", ["github", "jira"])
def test_addresses_inside_are_refused_when_entered(acme: Account, kind: str, host: str) -> None:
    config: dict[str, Any] = {"repository": "acme/infra", "server_url": f"https://{host}"}
    if kind == "jira":
        config = {"site_url": f"https://{host}", "email": "a@b.com", "project_key": "OPS"}

    with use_resolver(lambda _host, _port: ["10.1.2.3"]), pytest.raises(UserError) as error:
        create(acme, kind, config)
    assert error.value.field in ("server_url", "site_url")


@pytest.mark.parametrize("fake", ["github", "jira"], indirect=True)
def test_addresses_inside_are_refused_at_each_request(
    acme: Account, saving_key: str, fake: FakeTracker, tracker: IssueTracker, settings: Settings
) -> None:
    """The name was public when it was entered, and leads inside now."""
    before = len(fake.paths())
    settings.ALERT_ALLOWED_NETWORKS = []

    row = issue_of(acme, tracker, saving_key)

    assert (row.state, len(fake.paths())) == ("failed", before)
    assert "private or reserved network" in row.note


@pytest.mark.parametrize("fake", ["github", "jira"], indirect=True)
def test_a_token_goes_to_another_server_only_when_it_is_entered_again(
    acme: Account, fake: FakeTracker, tracker: IssueTracker
) -> None:
    config = fake.config() | {"server_url" if fake.kind == "github" else "site_url": "https://evil.example"}
    with public_names(), pytest.raises(UserError, match="Enter the token again") as error:
        services.change_tracker(tracker=tracker, actor=ACTOR, name="Work", config=config)
    assert error.value.field == "secret"

    with public_names():
        services.change_tracker(tracker=tracker, actor=ACTOR, name="Work", config=config, secret="tok_other")
    tracker.refresh_from_db()
    assert secret_of(tracker) == "tok_other"


def test_a_change_without_a_token_keeps_it_and_says_what_changed(
    acme: Account, fake: FakeTracker, tracker: IssueTracker
) -> None:
    services.change_tracker(tracker=tracker, actor=ACTOR, name="Renamed", config=fake.config())
    tracker.refresh_from_db()

    assert (tracker.name, secret_of(tracker)) == ("Renamed", SECRET)
    entry = AuditEntry.objects.get(action="issue_tracker.change")
    assert (entry.detail["from"]["name"], entry.detail["to"]["name"]) == ("Work", "Renamed")
    assert entry.detail["token_replaced"] is False


def test_names_are_one_in_an_account(acme: Account, fake: FakeTracker, tracker: IssueTracker) -> None:
    with pytest.raises(UserError, match="Issue tracker 'work' already exists"):
        add_tracker(acme, fake, "work")


def test_a_token_under_an_old_key_is_sealed_again(
    acme: Account, tracker: IssueTracker, settings: Settings
) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key-of-this-server-which-is-long-enough-0123456789"
    assert not is_sealed_now(tracker)

    assert services.reseal_credentials() == 1

    tracker.refresh_from_db()
    assert (is_sealed_now(tracker), secret_of(tracker)) == (True, SECRET)


def test_a_token_that_can_no_longer_be_read_is_said(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str, settings: Settings
) -> None:
    row = issue_of(acme, tracker, saving_key)
    settings.SECRET_KEY = "another-key-of-this-server-which-is-long-enough-0123456789"

    run_polls()

    assert (
        "is unreadable because the server's secret key was replaced. Enter it again."
        in reload(row).tracker.error
    )
    assert "Token" in labels_of(tracker)
    assert services.reseal_credentials() == 0


def labels_of(tracker: IssueTracker) -> set[str]:
    return {each.label for each in services.test_tracker(tracker=tracker, actor=ACTOR) if not each.ok}


# The secret


def test_the_token_is_stored_only_sealed(
    acme: Account,
    cast: Cast,
    tracker: IssueTracker,
    fake: FakeTracker,
    saving_key: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    row = issue_of(acme, tracker, saving_key)
    for status in (400, 403, 500):
        # A tracker that repeats what it was sent.
        echo = {"message": f"no {SECRET}", "errors": [{"message": SECRET, "extensions": {"code": "X"}}]}
        fake.replay.faults = [Reply.of_json(echo, status)]
        services.request_poll(tracker=tracker)
        run_polls()
        fake.replay.faults = [Reply.of_json(echo, status)]
        services.test_tracker(tracker=tracker, actor=ACTOR)
    services.change_tracker(tracker=tracker, actor=ACTOR, name="Work 2", config=fake.config(), secret=SECRET)

    for model in apps.get_models(include_auto_created=True):
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT t::text FROM "{model._meta.db_table}" t')
            assert SECRET not in repr(cursor.fetchall()), model
    assert SECRET not in caplog.text
    client = signed_in(cast.owner)
    page = f"issue-trackers/{tracker.pk}/"
    for path in (
        "issue-trackers/",
        page,
        f"{page}edit/",
        f"savings/{row.saving_key}/",
        "settings/audit-log/",
    ):
        response = client.get(f"/a/acme/{path}")
        assert (response.status_code, SECRET in response.content.decode()) == (200, False)
    bad = client.post(f"/a/acme/{page}edit/", {"name": "", **fake.config(), "secret": SECRET})
    assert (bad.status_code, SECRET in bad.content.decode()) == (422, False)

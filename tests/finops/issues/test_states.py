"""A saving follows its issue: what closing, reopening, deleting and moving it does, and what it does not."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from pytest_django import Settings

from accounts.models import Account, AuditEntry
from finops.costs.models import CostSource
from finops.insights.models import SavingsDismissal
from finops.insights.savings import services as savings
from finops.insights.savings.queries import list_savings, recommendation
from finops.insights.savings.schemas import Recommendation, SavingsQuery
from finops.issues import services
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.services.polls import INTERVAL, LONGEST_INTERVAL
from finops.lib import clock
from tests.cast import ACTOR
from tests.factories.costs import store_lines
from tests.finops.connections.replay_server import Reply, replay_server
from tests.finops.insights.savings.bills import FIRST, LAST, NOON, daily, volume
from tests.finops.issues.fake_trackers import FakeGitHub, FakeJira, FakeTracker
from tests.finops.issues.steps import add_tracker, issue_of, reload, run_polls

HOUR = timedelta(hours=1)
VOLUME = {
    "service_category": "Storage",
    "consumed_unit": "GB-Mo",
    "resource_id": "vol-1",
    "account_name": "lab",
}


@pytest.fixture
def issue(acme: Account, tracker: IssueTracker, saving_key: str) -> SavingIssue:
    """The saving as an open issue, whose state was read."""
    row = issue_of(acme, tracker, saving_key)
    run_polls()
    return reload(row)


def saving(account: Account, key: str) -> Recommendation:
    rows = list_savings(account, SavingsQuery(status="all")).recommendations
    return next(row for row in rows if row.id == key)


def open_total(account: Account) -> Decimal:
    return sum((each.monthly_saving for each in list_savings(account, SavingsQuery()).totals), Decimal(0))


def test_an_issue_that_was_read_is_open(issue: SavingIssue) -> None:
    assert (issue.state, issue.note, issue.tracker.error, issue.tracker.failures) == ("open", "", "", 0)
    assert issue.checked_at == NOON
    assert issue.remote_status in ("open", "In Review", "In Progress")


def test_a_completed_issue_still_counts_while_the_bills_show_it(
    acme: Account, issue: SavingIssue, fake: FakeTracker
) -> None:
    fake.close("completed")
    run_polls(fake, at=NOON + HOUR)

    row = saving(acme, issue.saving_key)
    assert (reload(issue).state, row.status, open_total(acme)) == ("completed", "open", Decimal(60))
    assert [link.state for link in row.issues] == ["completed"]
    assert reload(issue).closed_at is not None
    assert not SavingsDismissal.objects.exists()


def test_a_completed_issue_is_verified_when_the_bills_show_the_saving_no_more(
    acme: Account, issue: SavingIssue, fake: FakeTracker, source: CostSource
) -> None:
    """The volume is gp3 from 2 March; 31 days later no day of gp2 is in the last thirty."""
    fake.now = NOON + timedelta(days=1)
    fake.close("completed")
    run_polls(fake, at=NOON + timedelta(days=1))
    end = LAST + timedelta(days=32)
    gp3 = daily("8", LAST + timedelta(days=1), end, **VOLUME, usage_type="EU-EBS:VolumeUsage.gp3")
    store_lines(acme, source, [*volume("10", account_name="lab"), *gp3])
    later = NOON + timedelta(days=33)

    run_polls(fake, at=later)

    with clock.frozen(later):
        mark = SavingsDismissal.objects.get(key=issue.saving_key)
        assert (mark.status, mark.acted_on) == ("acted", date(2026, 3, 2))
        assert "closed as completed, and it is no longer recommended" in mark.reason
        assert mark.marked_by_label.endswith(f"issue {issue.remote_key}")
        row = saving(acme, issue.saving_key)
        assert row.realised is not None
        # The 30 days before 2 March: 29 at ten and 1 March at eight. Since then eight a day.
        assert (row.realised.before, row.realised.after, row.realised.saved) == (
            Decimal(298),
            Decimal(240),
            Decimal(58),
        )


def test_a_completed_issue_is_not_verified_before_later_days_are_there(
    acme: Account, issue: SavingIssue, fake: FakeTracker, source: CostSource
) -> None:
    """Bills that end before the closing say nothing about what it did."""
    fake.now = NOON + timedelta(days=1)
    fake.close("completed")
    store_lines(acme, source, volume("10", usage_type="EU-EBS:VolumeUsage.gp3"))

    run_polls(fake, at=NOON + timedelta(days=1))

    assert reload(issue).state == "completed"
    assert not SavingsDismissal.objects.exists()


def test_another_recommendation_of_the_same_resource_is_no_verification(
    acme: Account, issue: SavingIssue, fake: FakeTracker, source: CostSource
) -> None:
    """The volume is now billed on another account's name, so its recommendation is another; it is still gp2."""
    fake.now = NOON + timedelta(days=1)
    fake.close("completed")
    run_polls(fake, at=NOON + timedelta(days=1))
    end = LAST + timedelta(days=32)
    gp2 = {**VOLUME, "usage_type": "EU-EBS:VolumeUsage.gp2", "account_name": "other", "account_id": "222"}
    store_lines(acme, source, daily("10", FIRST, end, **gp2))
    later = NOON + timedelta(days=33)

    run_polls(fake, at=later)

    with clock.frozen(later):
        keys = [row.id for row in list_savings(acme, SavingsQuery()).recommendations]
        assert len(keys) == 1
        assert keys != [issue.saving_key]
        assert not SavingsDismissal.objects.exists()


@pytest.mark.parametrize("fake", ["jira"], indirect=True)
@pytest.mark.parametrize(
    ("setting", "resolution", "state"),
    [
        ("", "Won\u2019t Do", "not_planned"),
        ("", "Wird nicht gemacht", "completed"),
        ("Nicht gemacht, abgelehnt", "Wird NICHT gemacht", "not_planned"),
        ("Nicht gemacht, abgelehnt", "Won\u2019t Do", "completed"),
    ],
)
def test_resolutions_of_jira_that_mean_not_planned_are_those_of_the_settings(
    issue: SavingIssue, fake: FakeJira, setting: str, resolution: str, state: str
) -> None:
    fake.wont_do = resolution
    services.change_tracker(
        tracker=issue.tracker,
        actor=ACTOR,
        name="Work",
        config={**fake.config(), "not_planned": setting},
        secret="",
    )
    fake.close("not_planned")

    run_polls(fake, at=NOON + HOUR)

    assert reload(issue).state == state


def test_not_planned_dismisses_with_the_issue_as_reason_and_reopening_undoes_it(
    acme: Account, issue: SavingIssue, fake: FakeTracker
) -> None:
    fake.close("not_planned")
    run_polls(fake, at=NOON + HOUR)

    mark = SavingsDismissal.objects.get(key=issue.saving_key)
    assert (reload(issue).state, mark.status, open_total(acme)) == ("not_planned", "dismissed", Decimal(0))
    assert "was closed as not planned" in mark.reason
    assert issue.url in mark.reason

    fake.now = NOON + 2 * HOUR
    fake.reopen()
    run_polls(fake, at=NOON + 2 * HOUR)

    assert (reload(issue).state, saving(acme, issue.saving_key).status, open_total(acme)) == (
        "open",
        "open",
        Decimal(60),
    )
    states = AuditEntry.objects.filter(action="saving_issue.state").order_by("pk")
    assert [(each.detail["from"], each.detail["to"]) for each in states] == [
        ("open", "not_planned"),
        ("not_planned", "open"),
    ]


def test_the_review_of_a_person_is_kept(acme: Account, issue: SavingIssue, fake: FakeTracker) -> None:
    candidate = recommendation(acme, issue.saving_key)[0]
    assert candidate is not None
    savings.dismiss(account=acme, actor=ACTOR, candidate=candidate, reason="A person's words")

    fake.close("not_planned")
    run_polls(fake, at=NOON + HOUR)
    fake.now = NOON + 2 * HOUR
    fake.reopen()
    run_polls(fake, at=NOON + 2 * HOUR)

    assert SavingsDismissal.objects.get().reason == "A person's words"


def test_a_saving_that_a_person_opened_again_is_not_dismissed_by_the_same_closing(
    acme: Account, issue: SavingIssue, fake: FakeTracker
) -> None:
    fake.close("not_planned")
    run_polls(fake, at=NOON + HOUR)
    savings.reopen(account=acme, actor=ACTOR, mark=SavingsDismissal.objects.get())

    run_polls(fake, at=NOON + 2 * HOUR)

    assert (reload(issue).state, SavingsDismissal.objects.count()) == ("not_planned", 0)


@pytest.mark.parametrize("message", ["deleted", "moved"])
def test_an_issue_that_is_gone_is_said_and_changes_nothing_of_the_saving(
    acme: Account, issue: SavingIssue, fake: FakeTracker, message: str
) -> None:
    fake.issues[-1].gone = message
    run_polls(fake, at=NOON + timedelta(days=2))

    row = reload(issue)
    if fake.kind == "jira" and message == "moved":
        # It is found by its id in the other project.
        assert (row.state, row.remote_key, row.url.endswith("/browse/CLOUD-1")) == ("open", "CLOUD-1", True)
    else:
        assert row.state == "missing"
        assert "moved" in row.note if (fake.kind, message) == ("github", "moved") else "deleted" in row.note
        assert row.url == issue.url
    assert saving(acme, issue.saving_key).status == "open"


def test_a_tracker_that_fails_is_reported_and_polled_less_often(
    acme: Account, issue: SavingIssue, fake: FakeTracker
) -> None:
    fake.token = "replaced"
    now, waits = NOON + HOUR, []
    for _look in range(8):
        assert run_polls(fake, at=now) == 1
        tracker = reload(issue).tracker
        waits.append(tracker.next_poll_at - now)
        now = tracker.next_poll_at

    assert reload(issue).state == "open"
    assert "does not accept the credential. It may be mistyped, revoked or expired." in tracker.error
    assert (tracker.failures, tracker.polled_at) == (8, NOON)
    assert INTERVAL <= waits[0] <= INTERVAL * 1.2
    assert LONGEST_INTERVAL <= waits[-1] <= LONGEST_INTERVAL * 1.2

    fake.token = "tok_Zx81QmWv7Lr0secret"
    run_polls(fake, at=now)
    assert (reload(issue).tracker.error, reload(issue).tracker.failures) == ("", 0)


@pytest.mark.parametrize(
    "fault",
    [
        Reply.of_json({}, 429, Retry_After="7200"),
        Reply.of_json({}, 502, Retry_After="7200"),
        Reply(200, b'[{"numb', {}, cut=0.9),
    ],
    ids=["429", "502", "half an answer"],
)
def test_a_look_that_breaks_off_changes_no_state(issue: SavingIssue, fake: FakeTracker, fault: Reply) -> None:
    fake.close("not_planned")
    fake.replay.faults = [fault]
    run_polls(fake, at=NOON + HOUR)

    row = reload(issue)
    assert (row.state, bool(row.tracker.error)) == ("open", True)
    if "Retry-After" in fault.headers:
        assert row.tracker.next_poll_at >= NOON + 3 * HOUR

    run_polls(fake, at=row.tracker.next_poll_at)
    assert reload(issue).state == "not_planned"


def test_a_tracker_without_issues_is_not_polled(
    acme: Account, tracker: IssueTracker, fake: FakeTracker
) -> None:
    assert (run_polls(), fake.paths()) == (0, [])


def test_a_tracker_is_polled_every_quarter_of_an_hour(issue: SavingIssue, fake: FakeTracker) -> None:
    assert [run_polls(fake, at=NOON + timedelta(minutes=each)) for each in (14, 16, 20, 32)] == [0, 1, 0, 1]


def test_an_old_closed_issue_is_read_no_more(
    acme: Account, issue: SavingIssue, fake: FakeTracker, tracker: IssueTracker
) -> None:
    fake.close("not_planned")
    run_polls(fake, at=NOON + HOUR)
    fake.now = NOON + timedelta(days=100)
    fake.issues[-1].gone = "deleted"

    run_polls(fake, at=NOON + timedelta(days=100))

    assert reload(issue).state == "not_planned"


def test_many_issues_are_read_in_batches(
    acme: Account, issue: SavingIssue, fake: FakeTracker, tracker: IssueTracker
) -> None:
    """250 issues of one tracker, of which the last is closed."""
    for number in range(2, 251):
        remote = fake.add("x", "y", f"00000000-0000-4000-8000-{number:012}")
        row = SavingIssue.objects.get(pk=issue.pk)
        row.pk, row.saving_key = None, f"sav_{number}"
        row.remote_id = str(remote.number) if fake.kind == "github" else remote.id
        row.checked_at = NOON
        row.save(force_insert=True)
    fake.now = NOON + HOUR
    fake.close("completed")
    before = len(fake.replay.requests)

    run_polls(fake, at=NOON + HOUR)

    assert SavingIssue.objects.filter(state="completed").count() == 1
    # GitHub's list begins again where a page ended: at noon, as most of them changed.
    assert len(fake.replay.requests) - before == (4 if fake.kind == "github" else 3)


def test_github_answers_an_unchanged_list_without_a_body(
    acme: Account, saving_key: str, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with replay_server() as replay:
        fake = FakeGitHub(replay)
        issue_of(acme, add_tracker(acme, fake), saving_key)
        for minutes in (0, 20, 40, 60):
            run_polls(fake, at=NOON + timedelta(minutes=minutes))
        polls = [each for each in replay.requests if each.path.endswith("/issues") and each.method == "GET"]
        conditional = ["if-none-match" in each.headers for each in polls]

    # One before the creation; then the list, whose beginning is the issue's own change from its second look on.
    assert conditional[-1] is True
    assert len({each.target for each in polls[-2:]}) == 1


def test_the_same_look_twice_changes_nothing(
    acme: Account, issue: SavingIssue, fake: FakeTracker, tracker: IssueTracker
) -> None:
    fake.close("not_planned")
    run_polls(fake, at=NOON + HOUR)
    mark = SavingsDismissal.objects.get()
    services.request_poll(tracker=tracker)
    run_polls(fake, at=NOON + HOUR)

    assert SavingsDismissal.objects.get().marked_at == mark.marked_at
    assert AuditEntry.objects.filter(action="saving_issue.state").count() == 1

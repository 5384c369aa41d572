"""A saving becomes one issue of its tracker, whatever happens on the way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Account, AuditEntry
from finops.insights.models import SavingsDismissal
from finops.insights.savings import services as savings
from finops.insights.savings.queries import list_savings, recommendation
from finops.insights.savings.schemas import SavingsQuery
from finops.issues import services
from finops.issues.content import marker_of
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.services.saving_issues import BACK_OFF, LEASE, MAX_ATTEMPTS
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR
from tests.finops.connections.replay_server import Reply
from tests.finops.insights.savings.bills import NOON
from tests.finops.issues.fake_trackers import FakeGitHub, FakeJira, FakeLinear, FakeTracker
from tests.finops.issues.steps import add_tracker, hand_over, issue_of, reload, run_creations

KEYS = {"github": "#1", "jira": "OPS-1", "linear": "ENG-1"}


def test_a_saving_becomes_an_issue_that_says_what_it_is(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    row = hand_over(acme, tracker, saving_key)
    assert (row.state, fake.issues) == ("creating", [])

    run_creations()

    (issue,) = fake.issues
    row = reload(row)
    assert (row.state, row.remote_key, row.attempts) == ("open", KEYS[fake.kind], 1)
    assert row.url.startswith("http")
    assert issue.title.startswith("Move 'gp2' to 'gp3'")
    assert issue.title.endswith("(60.00 USD a month)")
    for text in ("60.00 USD", "300.00 USD", "vol-1", "eu-west-1", "lab", "Bill", "EU-EBS:VolumeUsage.gp2"):
        assert text in issue.text
    assert f"/a/acme/savings/{saving_key}/" in issue.text
    assert row.marker in issue.text


def test_the_answer_about_savings_carries_link_and_state(
    acme: Account, tracker: IssueTracker, saving_key: str
) -> None:
    row = issue_of(acme, tracker, saving_key)

    (saving,) = list_savings(acme, SavingsQuery()).recommendations

    (link,) = saving.issues
    assert (link.tracker, link.key, link.url, link.state) == ("Work", row.remote_key, row.url, "open")


def test_two_clicks_make_one_issue(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    first, is_new = services.create_saving_issue(
        account=acme, actor=ACTOR, tracker=tracker, saving_key=saving_key
    )
    second, is_new_again = services.create_saving_issue(
        account=acme, actor=ACTOR, tracker=tracker, saving_key=saving_key
    )
    run_creations()
    run_creations()

    assert (first.pk, is_new, is_new_again) == (second.pk, True, False)
    assert fake.creations == 1


def test_a_creation_whose_answer_is_lost_is_found_again(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    fake.lose_answers = 1
    row = hand_over(acme, tracker, saving_key)
    run_creations()
    assert (reload(row).state, fake.creations) == ("creating", 1)
    assert (
        "an incomplete answer" in reload(row).note
        or "closed the connection or did not return HTTP." in reload(row).note
    )

    run_creations(at=NOON + timedelta(minutes=2))

    assert (reload(row).state, reload(row).remote_key) == ("open", KEYS[fake.kind])
    assert (fake.creations, len(fake.issues)) == (1, 1)


def test_a_worker_that_dies_after_the_creation_leaves_one_issue(
    acme: Account,
    tracker: IssueTracker,
    fake: FakeTracker,
    saving_key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = hand_over(acme, tracker, saving_key)
    with monkeypatch.context() as dying:
        dying.setattr(
            "finops.issues.services.saving_issues._record_attempt",
            lambda *_: (_ for _ in ()).throw(SystemExit),
        )
        with pytest.raises(SystemExit):
            run_creations()
    assert (reload(row).state, run_creations()) == ("creating", 0)

    run_creations(at=NOON + LEASE)

    assert (reload(row).state, fake.creations) == ("open", 1)


def test_two_concurrent_workers_make_one_attempt(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    row = hand_over(acme, tracker, saving_key)

    tries = [services.create_remote_issue(account=acme, issue_id=row.pk) for _ in range(2)]

    assert (tries, fake.creations) == ([True, False], 1)


@pytest.mark.parametrize(
    ("fault", "delay"),
    [
        (Reply.of_json({"message": "busy"}, 500), 60),
        (Reply.of_json({}, 503, Retry_After="900"), 900),
        (Reply.of_json({}, 429, Retry_After="3600"), 3_600),
        (Reply(200, b"<html>", {}), 60),
        (Reply(200, b'{"items": [', {}, cut=0.5), 60),
    ],
    ids=["500", "503", "429", "no JSON", "half an answer"],
)
def test_faults_are_tried_again_as_late_as_the_tracker_asks(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str, fault: Reply, delay: int
) -> None:
    fake.replay.faults = [fault]
    row = hand_over(acme, tracker, saving_key)
    run_creations()

    row = reload(row)
    assert (row.state, row.next_attempt_at is not None) == ("creating", True)
    assert row.next_attempt_at is not None
    assert delay <= (row.next_attempt_at - NOON).total_seconds() <= delay * 1.2
    assert row.note

    run_creations(at=row.next_attempt_at)
    assert (reload(row).state, reload(row).note, fake.creations) == ("open", "", 1)


def test_attempts_end(acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str) -> None:
    row, now = hand_over(acme, tracker, saving_key), NOON
    for _attempt in range(MAX_ATTEMPTS):
        fake.replay.faults = [Reply.of_json({}, 500)]
        assert run_creations(at=now) == 1
        now += timedelta(days=1)

    row = reload(row)
    assert (row.state, row.attempts, len(BACK_OFF)) == ("failed", MAX_ATTEMPTS, 6)
    assert "HTTP 500" in row.note
    assert run_creations(at=now) == 0


def test_an_error_that_a_person_must_fix_fails_at_once_and_can_be_retried(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    fake.may_write = False
    row = hand_over(acme, tracker, saving_key)
    run_creations()
    assert reload(row).state == "failed"
    needs = {"github": "Issues: Read and write", "jira": "bot@example.com may not", "linear": "Create issues"}
    assert needs[fake.kind] in reload(row).note

    fake.may_write = True
    services.retry_saving_issue(issue=reload(row), actor=ACTOR)
    run_creations()

    assert (reload(row).state, fake.creations) == ("open", 1)
    with pytest.raises(UserError, match="Only issues that could not be created can be retried"):
        services.retry_saving_issue(issue=reload(row), actor=ACTOR)


def test_a_credential_that_is_not_accepted_is_said(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    fake.token = "another"
    row = hand_over(acme, tracker, saving_key)
    run_creations()

    assert reload(row).state == "failed"
    assert "does not accept the credential. It may be mistyped, revoked or expired." in reload(row).note


def test_a_tracker_made_again_finds_the_open_issue(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    issue_of(acme, tracker, saving_key)
    services.delete_tracker(tracker=tracker, actor=ACTOR)
    later = NOON + timedelta(days=3)
    fake.now = later

    with clock.frozen(later):
        row = issue_of(acme, add_tracker(acme, fake, "Again"), saving_key)

    assert (row.remote_key, fake.creations) == (KEYS[fake.kind], 1)


def test_a_closed_issue_of_long_ago_is_no_reason_not_to_create(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    old = fake.add("Old", f"Reference {marker_of(acme, saving_key)}", "old-id")
    old.created = NOON - timedelta(days=90)
    fake.close("completed", old)

    row = issue_of(acme, tracker, saving_key)

    assert (fake.creations, row.remote_key.endswith("2")) == (1, True)


def test_only_an_open_saving_becomes_an_issue(acme: Account, tracker: IssueTracker, saving_key: str) -> None:
    candidate = recommendation(acme, saving_key)[0]
    assert candidate is not None
    savings.dismiss(account=acme, actor=ACTOR, candidate=candidate, reason="no")

    for key in (saving_key, "sav_0000000000000000"):
        with pytest.raises(
            UserError, match="An issue can be created only for an open recommendation in current bills"
        ):
            hand_over(acme, tracker, key)

    assert not SavingIssue.objects.exists()


def test_unlinking_keeps_the_issue_and_the_saving(
    acme: Account, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    row = issue_of(acme, tracker, saving_key)

    services.unlink_saving_issue(issue=row, actor=ACTOR)

    assert (SavingIssue.objects.count(), len(fake.issues)) == (0, 1)
    assert not SavingsDismissal.objects.exists()
    actions = AuditEntry.objects.filter(action__startswith="saving_issue.").order_by("pk")
    assert [each.action for each in actions] == [
        "saving_issue.create",
        "saving_issue.link",
        "saving_issue.unlink",
    ]


def test_the_fakes_are_of_each_kind() -> None:
    assert {each.kind for each in (FakeGitHub, FakeJira, FakeLinear)} == set(IssueTracker.Kind.values)

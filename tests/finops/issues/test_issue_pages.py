"""The pages of issue trackers, and the card of a saving: for members, viewers and strangers."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import Account
from finops.insights.models import SavingsDismissal
from finops.issues import services
from finops.issues.models import IssueTracker, SavingIssue
from tests.cast import Cast, signed_in
from tests.finops.insights.savings.bills import NOON
from tests.finops.issues.fake_trackers import SECRET, FakeTracker
from tests.finops.issues.steps import hand_over, issue_of, reload, run_creations, run_polls
from tests.pages import csv_rows, get_page, text_of

LIST = "/a/acme/issue-trackers/"


@pytest.fixture
def member(cast: Cast) -> Client:
    return signed_in(cast.member)


@pytest.fixture
def viewer(cast: Cast) -> Client:
    return signed_in(cast.viewer)


def test_an_account_without_trackers_is_led_to_its_first(
    acme: Account, member: Client, viewer: Client
) -> None:
    assert f'href="{LIST}new/"' in member.get(LIST).content.decode()
    assert "Ask a member, admin or owner to add one" in get_page(viewer, LIST)
    page = get_page(member, f"{LIST}new/")
    assert all(kind in page for kind in IssueTracker.Kind.labels)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("github", ("Fine-grained token", "Issues, Read and write")),
        ("jira", ("API token", "Create issues")),
        ("linear", ("API key", "Read and Create issues")),
    ],
)
def test_every_kind_has_its_form_and_says_where_to_find_what_it_asks_for(
    acme: Account, member: Client, kind: str, words: tuple[str, ...]
) -> None:
    page = get_page(member, f"{LIST}new/", kind=kind)
    assert all(each in page for each in words)


def test_a_member_makes_tests_changes_and_deletes_a_tracker(
    acme: Account, member: Client, fake: FakeTracker
) -> None:
    values = {"name": "Work", **fake.config(), "secret": SECRET}
    response = member.post(f"{LIST}new/?kind={fake.kind}", values)
    tracker = IssueTracker.objects.get()
    url = f"{LIST}{tracker.pk}/"
    assert response["Location"] == url

    assert "Not tested yet. A test creates no issue." in get_page(member, url)
    tested = member.post(f"{url}test/", headers={"HX-Request": "true"})
    assert "The connection works." in text_of(tested)
    fake.token = "another"
    failed = text_of(member.post(f"{url}test/", headers={"HX-Request": "true"}))
    assert "1 of 1 checks failed" in failed
    assert "does not accept the credential. It may be mistyped, revoked or expired." in text_of(
        member.post(f"{url}test/", follow=True)
    )

    form = member.get(f"{url}edit/").content.decode()
    assert "Leave empty to keep the stored one" in form
    assert SECRET not in form
    member.post(f"{url}edit/", {"name": "Renamed", **fake.config(), "secret": ""})
    assert "Renamed" in get_page(member, LIST)
    assert "deleted. Its issues stay" in text_of(member.post(f"{url}delete/", follow=True))
    assert not IssueTracker.objects.exists()


def test_a_refused_value_has_its_error_at_its_field(acme: Account, member: Client) -> None:
    bad = member.post(f"{LIST}new/?kind=github", {"name": "x", "repository": "infra", "secret": "t"})

    assert "Enter owner and repository" in text_of(bad, status=422)


def test_a_saving_is_handed_over_and_its_page_shows_the_issue(
    acme: Account, member: Client, viewer: Client, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    page = f"/a/acme/savings/{saving_key}/"
    assert "Create issue" in get_page(member, page)
    assert "Create issue" not in get_page(viewer, page)

    response = member.post(f"{page}issues/create/", {"tracker": tracker.pk}, follow=True)
    assert "The issue is being created in Work." in text_of(response)
    assert 'hx-trigger="every 2s"' in response.content.decode()
    again = member.post(f"{page}issues/create/", {"tracker": tracker.pk}, follow=True)
    assert "Already in Work: being created." in text_of(again)
    run_creations()

    row = SavingIssue.objects.get()
    panel = viewer.get(f"{page}issues/")
    assert "every 2s" not in panel.content.decode()
    assert f"Work {row.remote_key}" in text_of(panel)
    assert row.url in panel.content.decode()
    assert "Unlink" not in text_of(panel)
    assert row.url in viewer.get("/a/acme/savings/").content.decode()
    (line,) = csv_rows(viewer.get("/a/acme/savings/?format=csv"))
    assert line["Issues"] == row.url


def test_states_are_said_on_the_page_of_the_saving_and_of_the_tracker(
    acme: Account, viewer: Client, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    issue_of(acme, tracker, saving_key)
    fake.close("completed")
    run_polls(fake)

    saving = get_page(viewer, f"/a/acme/savings/{saving_key}/")
    assert "Done, to be verified" in saving
    assert "The saving counts until it is no longer recommended" in saving
    assert "Done, to be verified" in get_page(viewer, f"{LIST}{tracker.pk}/")
    assert "Done, to be verified" in get_page(viewer, "/a/acme/savings/")

    fake.token = "another"
    services.request_poll(tracker=tracker)
    run_polls(fake)
    assert "Status could not be read" in get_page(viewer, f"/a/acme/savings/{saving_key}/")
    assert "could not be read since" in get_page(viewer, f"{LIST}{tracker.pk}/")
    assert "does not accept the credential. It may be mistyped, revoked or expired." in get_page(viewer, LIST)


def test_an_issue_that_failed_says_why_and_is_tried_again_or_unlinked(
    acme: Account, member: Client, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    fake.may_write = False
    row = hand_over(acme, tracker, saving_key)
    run_creations()
    page = f"/a/acme/savings/{saving_key}/"
    assert "Not created" in get_page(member, page)
    assert reload(row).note in get_page(member, page)

    assert "The issue is being created." in text_of(
        member.post(f"/a/acme/saving-issues/{row.pk}/retry/", follow=True)
    )
    assert "Unlinked." in text_of(member.post(f"/a/acme/saving-issues/{row.pk}/unlink/", follow=True))
    assert not SavingIssue.objects.exists()


def test_a_saving_that_is_not_open_becomes_no_issue(
    acme: Account, member: Client, tracker: IssueTracker, saving_key: str
) -> None:
    page = f"/a/acme/savings/{saving_key}/"
    member.post(f"{page}dismiss/", {"reason": "no"})

    assert "Create issue" not in get_page(member, page)
    refusal = text_of(member.post(f"{page}issues/create/", {"tracker": tracker.pk}, follow=True))
    assert "An issue can be created only for an open recommendation in current bills." in refusal
    assert SavingsDismissal.objects.count() == 1


@pytest.mark.parametrize("fake", ["github"], indirect=True)
def test_viewers_and_strangers_change_nothing(
    acme: Account, cast: Cast, tracker: IssueTracker, fake: FakeTracker, saving_key: str
) -> None:
    row = issue_of(acme, tracker, saving_key)
    base, saving = f"{LIST}{tracker.pk}/", f"/a/acme/savings/{saving_key}/issues/"
    posts = [
        *(f"{base}{each}/" for each in ("edit", "test", "refresh", "delete")),
        f"{LIST}new/?kind=github",
        f"{saving}create/",
        *(f"/a/acme/saving-issues/{row.pk}/{each}/" for each in ("retry", "unlink")),
    ]
    values = {"name": "x", "repository": "a/b", "secret": "t", "tracker": tracker.pk}
    before = len(fake.paths())

    for path in posts:
        assert signed_in(cast.viewer).post(path, values).status_code == 403, path
        assert signed_in(cast.stranger).post(path, values).status_code == 404, path
    for path in (LIST, base, saving):
        assert signed_in(cast.viewer).get(path).status_code == 200, path
        assert signed_in(cast.stranger).get(path).status_code == 404, path
    assert (SavingIssue.objects.count(), IssueTracker.objects.get().name) == (1, "Work")
    assert len(fake.paths()) == before


@pytest.mark.parametrize("fake", ["github"], indirect=True)
def test_another_accounts_tracker_cannot_be_named(
    acme: Account, cast: Cast, tracker: IssueTracker, saving_key: str
) -> None:
    """A person in two accounts, with the tracker of the one on pages of the other."""
    both = signed_in(cast.both)
    cast.other_account.memberships.filter(user=cast.both).update(role="member")

    for path in (f"issue-trackers/{tracker.pk}/test/", f"savings/{saving_key}/issues/create/"):
        assert both.post(f"/a/elsewhere/{path}", {"tracker": tracker.pk}).status_code == 404
    assert both.get(f"/a/elsewhere/issue-trackers/{tracker.pk}/").status_code == 404


def test_states_can_be_read_now(
    acme: Account, member: Client, tracker: IssueTracker, saving_key: str
) -> None:
    issue_of(acme, tracker, saving_key)
    run_polls()
    assert run_polls() == 0

    member.post(f"{LIST}{tracker.pk}/refresh/")

    assert run_polls(at=NOON) == 1

"""Notifications: their events, recipients, read status, and retention."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, Membership
from accounts.scoping import account_scope
from finops.alerts.models import AlertDelivery
from finops.costs.models import CostImport, CostSource
from finops.costs.services import attempts
from finops.lib import clock
from finops.notifications.models import MAX_PATH, Notification
from finops.notifications.queries import MOST_COUNTED
from finops.notifications.services import mark_all_read, notify, sweep
from tests.cast import Cast, signed_in
from tests.factories.alerts import create_channel, evaluate, subscribe_to_budget
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import add_source
from tests.factories.days import NOON
from tests.pages import csv_rows, get_page

URL = "/a/acme/notifications/"
READ_ALL = "/accounts/acme/notifications/read/"
BELL = re.compile(r">Notifications</span>\s*(?:<span class=\"bell-count\">([^<]+))?")


@pytest.fixture(autouse=True)
def _members_of_old(cast: Cast) -> None:
    Membership.objects.update(created_at=clock.now() - timedelta(days=365))


def add_notification(account: Account, title: str = "Sync of AWS failed", key: str = "") -> None:
    notify(
        account=account,
        kind=Notification.Kind.SYNC,
        title=title,
        text="Access denied.",
        path=f"/a/{account.slug}/connections/",
        key=key or title,
    )


def unread(client: Client) -> str:
    """What the bell shows; empty for nothing."""
    bell = BELL.search(client.get("/a/acme/teams/").content.decode())
    assert bell is not None
    return bell.group(1) or ""


def test_notifications_for_admins_are_not_shown_counted_or_opened_for_others(cast: Cast) -> None:
    notify(
        account=cast.account,
        kind=Notification.Kind.ALERT,
        title="Audit log webhook paused",
        path="/a/acme/settings/audit-log/webhook/",
        key="w",
        admins_only=True,
    )
    with account_scope(cast.account):
        row = Notification.objects.get()
    for name, is_visible in (("owner", True), ("admin", True), ("member", False), ("viewer", False)):
        client = signed_in(cast.person(name))
        assert unread(client) == ("1" if is_visible else "")
        assert ("webhook paused" in get_page(client, URL)) == is_visible
        assert client.post(f"/accounts/acme/notifications/{row.pk}/").status_code == (
            302 if is_visible else 404
        )


def test_the_bell_counts_what_a_person_has_not_read(cast: Cast) -> None:
    add_notification(cast.account, "One")
    add_notification(cast.account, "Two")
    add_notification(cast.other_account, "Elsewhere")

    assert unread(signed_in(cast.viewer)) == "2"
    assert "Elsewhere" not in get_page(signed_in(cast.viewer), URL)


def test_opening_one_marks_it_as_read_for_that_person_alone(cast: Cast) -> None:
    add_notification(cast.account, "One")
    with account_scope(cast.account):
        row = Notification.objects.get()
    viewer, member = signed_in(cast.viewer), signed_in(cast.member)

    answer = viewer.post(f"/accounts/acme/notifications/{row.pk}/")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/a/acme/connections/")
    assert (unread(viewer), unread(member)) == ("", "1")


def test_all_are_marked_as_read_but_what_came_after_the_page(cast: Cast) -> None:
    client = signed_in(cast.viewer)
    add_notification(cast.account, "Before")
    page = client.get(URL).content.decode()
    until = re.search(r'name="until" value="([^"]+)"', page)
    assert until is not None
    add_notification(cast.account, "After")

    client.post(READ_ALL, {"until": until.group(1)})

    assert unread(client) == "1"
    assert [row["State"] for row in csv_rows(client.get(URL, {"format": "csv", "sort": "title"}))] == [
        "Unread",
        "Read",
    ]


@pytest.mark.parametrize("until", ["", "yesterday", "2026-02-31T00:00:00Z", "9999-01-01T00:00:00+00:00"])
def test_any_moment_marks_at_most_what_there_is(cast: Cast, until: str) -> None:
    client = signed_in(cast.member)
    add_notification(cast.account, "One")

    assert client.post(READ_ALL, {"until": until}).status_code == 302
    assert unread(client) == ""
    with clock.frozen(clock.now() + timedelta(minutes=1)):
        add_notification(cast.account, "Two")
        assert unread(client) == "1"


def test_a_stranger_reads_and_marks_nothing(cast: Cast) -> None:
    add_notification(cast.account)
    with account_scope(cast.account):
        row = Notification.objects.get()
    stranger = signed_in(cast.stranger)

    assert stranger.get(URL).status_code == 404
    assert stranger.post(READ_ALL).status_code == 404
    assert stranger.post(f"/accounts/acme/notifications/{row.pk}/").status_code == 404
    assert stranger.post(f"/accounts/elsewhere/notifications/{row.pk}/").status_code == 404
    assert Client().post(READ_ALL).status_code == 302
    assert signed_in(cast.viewer).get(READ_ALL).status_code == 405


def test_events_before_a_membership_are_not_shown(cast: Cast) -> None:
    add_notification(cast.account)
    Membership.objects.filter(user=cast.viewer).update(created_at=clock.now() + timedelta(seconds=1))

    assert unread(signed_in(cast.viewer)) == ""
    assert "No notifications yet" in get_page(signed_in(cast.viewer), URL)


def test_the_same_key_is_notified_of_once(cast: Cast) -> None:
    add_notification(cast.account, "First", key="sync 1")
    add_notification(cast.account, "Again", key="sync 1")

    page = get_page(signed_in(cast.viewer), URL)
    assert "First" in page
    assert "Again" not in page


def test_many_are_counted_up_to_99_by_one_query(cast: Cast) -> None:
    with account_scope(cast.account):
        Notification.objects.bulk_create(
            Notification(
                account=cast.account, kind="sync", severity="info", title=str(n), path="/", key=str(n)
            )
            for n in range(MOST_COUNTED + 20)
        )
    client = signed_in(cast.viewer)
    with CaptureQueriesContext(connection) as queries:
        assert unread(client) == "99+"

    assert sum("notifications_notification" in each["sql"] for each in queries) == 1


def test_names_of_any_text_are_stored(cast: Cast) -> None:
    add_notification(cast.account, "\0 \ud800 <b>" + "x" * 500)

    page = signed_in(cast.viewer).get(URL).content.decode()

    assert "&lt;b&gt;xxx" in page


def test_notifications_are_kept_for_90_days(cast: Cast) -> None:
    add_notification(cast.account)
    mark_all_read(account=cast.account, user=cast.viewer, until=clock.now())

    with clock.frozen(clock.now() + timedelta(days=89)):
        assert sweep() == 0
    with clock.frozen(clock.now() + timedelta(days=91)):
        assert sweep() == 1

    assert Notification.objects.unscoped().count() == 0


def test_an_alert_to_two_channels_is_one_notification_that_leads_to_its_page(acme: Account) -> None:
    Membership.objects.update(created_at=NOON - timedelta(days=30))
    add_source(acme, daily_cost(NOON.date().replace(day=1), NOON.date(), 100))
    budget = create_budget(acme, "Platform", 500)
    for name in ("Ops", "Finance"):
        subscribe_to_budget(acme, budget.pk, 100, channel=create_channel(acme, name).name)

    evaluate(acme)

    row = Notification.objects.get()
    assert AlertDelivery.objects.count() == 2
    assert row.title.startswith("Budget 'Platform'")
    assert row.path.startswith(f"/a/acme/budgets/{budget.pk}/")


def test_an_upload_that_fails_is_notified_of_and_a_month_of_a_sync_is_not(cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(name="AWS")
        for origin in (CostImport.Origin.UPLOAD, CostImport.Origin.SYNC):
            job = CostImport.objects.create(source=source, file_name=f"{origin}.csv", origin=origin)
            attempts.fail(job, "The file is empty.")

        row = Notification.objects.get()

    assert (row.title, row.text) == ("Import of upload.csv into AWS failed", "The file is empty.")
    assert signed_in(cast.viewer).get(row.path).status_code == 200


NEWEST = f"{URL}newest/"


def test_the_popover_has_the_newest_with_their_read_state(cast: Cast) -> None:
    for number in range(10):
        add_notification(cast.account, f"Sync {number} failed")
    add_notification(cast.other_account, "Elsewhere")
    client = signed_in(cast.viewer)
    with account_scope(cast.account):
        newest = Notification.objects.order_by("-pk")[0]
    client.post(f"/accounts/acme/notifications/{newest.pk}/")

    page = client.get(NEWEST).content.decode()

    titles = re.findall(r"Sync \d failed", page)
    assert titles == [f"Sync {number} failed" for number in range(9, 1, -1)]
    assert page.count("Unread:") == 7
    assert "Elsewhere" not in page


def test_a_page_reads_no_notification_before_the_popover_opens(cast: Cast) -> None:
    add_notification(cast.account, "Sync of AWS failed")
    client = signed_in(cast.viewer)
    with CaptureQueriesContext(connection) as queries:
        page = client.get("/a/acme/teams/").content.decode()

    assert "Sync of AWS failed" not in page
    assert sum("notifications_notification" in each["sql"] for each in queries) == 1
    with CaptureQueriesContext(connection) as queries:
        client.get(NEWEST)
    assert sum('FROM "notifications_notification"' in each["sql"] for each in queries) == 2


def test_the_popover_marks_all_as_read_and_removes_the_count_of_the_bell(cast: Cast) -> None:
    add_notification(cast.account)
    client = signed_in(cast.viewer)
    assert "Mark all as read" in client.get(NEWEST).content.decode()

    answer = client.post(READ_ALL, headers={"HX-Request": "true"}).content.decode()

    assert 'hx-swap-oob="delete:.bell-count"' in answer
    assert "Mark all as read" not in answer
    assert "Unread:" not in answer
    assert unread(client) == ""


def test_an_account_without_notifications_says_so_in_the_popover(cast: Cast) -> None:
    assert "No notifications yet" in signed_in(cast.viewer).get(NEWEST).content.decode()


def test_a_path_that_is_too_long_is_stored_without_its_query(cast: Cast) -> None:
    path = f"/a/{cast.account.slug}/cost-explorer/"
    notify(
        account=cast.account,
        kind=Notification.Kind.ALERT,
        title="Long",
        path=f"{path}?filter={'x' * MAX_PATH}",
        key="long",
    )

    with account_scope(cast.account):
        assert Notification.objects.get().path == path

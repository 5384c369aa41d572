"""Schedules of reports: what one may be, and who creates, edits, pauses and deletes it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel
from finops.allocation.models import Team
from finops.costs.dependants import deletion_impact_text
from finops.lib.errors import UserError
from finops.reports.models import ReportSchedule
from tests.cast import Cast, signed_in
from tests.factories.deliveries import create_mail_channel
from tests.finops.reports.conftest import create_schedule
from tests.pages import get_page, text_of

LIST = "/a/acme/reports/schedules/"
FORM = {"team": "", "hour": 0, "time_zone": "UTC", "format": "email"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"day": 29}, "day: 29 is not from 1 to 28."),
        ({"day": 0}, "day: 0 is not from 1 to 28."),
        ({"hour": 24}, "hour: 24 is not from 0 to 23."),
        (
            {"time_zone": "Berlin"},
            "'Berlin' is not a time zone. Choose one from the list, such as Europe/Berlin.",
        ),
        ({"format": "pdf"}, "format: 'pdf' does not exist. Valid: 'email', 'email_csv'."),
        ({"team_id": 999_999}, "team: choose a team of this account."),
        ({"channel_id": 999_999}, "channel: choose a channel of this account."),
        ({}, "channel: 'Finance' already gets this report."),
    ],
)
def test_an_invalid_schedule_is_refused(channel: AlertChannel, fields: dict[str, Any], problem: str) -> None:
    create_schedule(channel)

    with pytest.raises(UserError) as refusal:
        create_schedule(channel, **fields)

    assert refusal.value.message == problem


def test_the_database_takes_one_report_of_the_whole_account_a_channel(channel: AlertChannel) -> None:
    row = create_schedule(channel)
    row.pk = None
    row._state.adding = True

    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


def test_only_mail_channels_and_those_of_the_account_get_reports(cast: Cast, channel: AlertChannel) -> None:
    AlertChannel.objects.filter(pk=channel.pk).update(kind="slack")
    with pytest.raises(UserError, match="is not an email channel"):
        create_schedule(channel)

    with account_scope(cast.other_account):
        elsewhere = create_mail_channel(cast.other_account, "x@example.com")
    with pytest.raises(UserError, match="choose a channel of this account"):
        create_schedule(channel, channel_id=elsewhere.pk)


def test_members_make_pause_send_and_delete_it_and_viewers_read(cast: Cast, channel: AlertChannel) -> None:
    member, viewer = signed_in(cast.member), signed_in(cast.viewer)
    assert "No schedules yet" in get_page(viewer, LIST)

    created = member.post(f"{LIST}new/", {**FORM, "channel": channel.pk, "day": 7}, follow=True)

    assert "Schedule created." in text_of(created)
    schedule = ReportSchedule.objects.get()
    assert (schedule.day, schedule.created_by) == (7, cast.member)
    page = get_page(viewer, LIST)
    assert "Whole account" in page
    assert "Apr 7" in page
    assert "Send now" not in page
    for verb in ("edit", "send", "pause", "resume", "delete"):
        assert viewer.post(f"{LIST}{schedule.pk}/{verb}/").status_code == 403
    for verb, message in (
        ("send", "The report is being sent."),
        ("pause", "Schedule paused."),
        ("resume", "Schedule resumed."),
        ("delete", "Schedule deleted."),
    ):
        assert message in text_of(member.post(f"{LIST}{schedule.pk}/{verb}/", follow=True))
    actions = AuditEntry.objects.filter(action__startswith="report_schedule.").order_by("pk")
    assert [each.action.partition(".")[2] for each in actions] == [
        *("create", "send", "pause", "resume", "delete"),
    ]
    assert {each.target for each in actions} == {"Whole account, to Finance"}


def test_a_member_edits_every_setting_and_the_log_has_both(cast: Cast, channel: AlertChannel) -> None:
    schedule, member = create_schedule(channel), signed_in(cast.member)
    board, team = create_mail_channel(channel.account, "board@example.com", name="Board"), Team.objects.get()
    page = member.get(f"{LIST}{schedule.pk}/edit/").content.decode()
    assert "Finance (cfo@example.com)" in page
    settings = {"channel": board.pk, "team": team.pk, "day": 9, "hour": 7, "time_zone": "berlin"}

    answer = member.post(
        f"{LIST}{schedule.pk}/edit/", {**settings, "format": "email_csv", "paused": "on"}, follow=True
    )

    assert "Schedule updated." in text_of(answer)
    row = ReportSchedule.objects.get()
    assert (row.channel, row.team, row.day, row.hour) == (board, team, 9, 7)
    assert (row.time_zone, row.format) == ("Europe/Berlin", "email_csv")
    assert row.paused_at is not None
    entry = AuditEntry.objects.get(action="report_schedule.change")
    assert (entry.actor_user, entry.target) == (cast.member, "Core, to Board")
    assert entry.detail == {
        "id": schedule.pk,
        "from": {
            "channel": "Finance",
            "team": "",
            "day": 5,
            "time": "00:00",
            "time_zone": "UTC",
            "format": "email",
            "paused": False,
        },
        "to": {
            "channel": "Board",
            "team": "Core",
            "day": 9,
            "time": "07:00",
            "time_zone": "Europe/Berlin",
            "format": "email_csv",
            "paused": True,
        },
    }
    list_page = get_page(signed_in(cast.viewer), LIST)
    for text in ("Board", "board@example.com", "9 at 7:00 AM", "Europe/Berlin", "Email with CSV", "Paused"):
        assert text in list_page


def test_a_schedule_that_is_saved_unchanged_writes_nothing(cast: Cast, channel: AlertChannel) -> None:
    schedule = create_schedule(channel)

    signed_in(cast.member).post(f"{LIST}{schedule.pk}/edit/", {**FORM, "channel": channel.pk, "day": 5})

    assert not AuditEntry.objects.filter(action="report_schedule.change").exists()


def test_strangers_viewers_and_other_accounts_do_not_edit(cast: Cast, channel: AlertChannel) -> None:
    schedule = create_schedule(channel)
    form = {**FORM, "channel": channel.pk, "day": 28}
    url = f"{LIST}{schedule.pk}/edit/"

    for person, status in ((cast.viewer, 403), (cast.stranger, 404)):
        assert signed_in(person).get(url).status_code == status
        assert signed_in(person).post(url, form).status_code == status
    elsewhere = url.replace("/acme/", f"/{cast.other_account.slug}/")
    assert signed_in(cast.stranger).post(elsewhere, form).status_code == 404
    assert ReportSchedule.objects.get().day == 5


def test_a_refused_edit_says_why_and_keeps_the_schedule(cast: Cast, channel: AlertChannel) -> None:
    create_schedule(channel, team_id=Team.objects.get().pk)
    schedule = create_schedule(channel)

    answer = signed_in(cast.member).post(
        f"{LIST}{schedule.pk}/edit/",
        {**FORM, "channel": channel.pk, "team": Team.objects.get().pk, "day": 3},
    )

    assert "'Finance' already gets this report." in text_of(answer, status=422)
    schedule.refresh_from_db()
    assert (schedule.team, schedule.day) == (None, 5)


def test_a_bad_form_keeps_what_was_typed(cast: Cast, channel: AlertChannel) -> None:
    answer = signed_in(cast.member).post(f"{LIST}new/", {"channel": channel.pk, "day": 40})

    assert answer.status_code == 422
    assert 'value="40"' in answer.content.decode()


def test_the_deletion_of_a_channel_or_team_names_the_schedule(channel: AlertChannel) -> None:
    team = Team.objects.get()
    create_schedule(channel, team_id=team.pk)

    for row in (channel, team):
        assert "report schedule" in deletion_impact_text(row)

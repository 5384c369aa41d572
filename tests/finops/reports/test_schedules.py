"""Reports by e-mail: whose day has come, once a month, and by hand."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.allocation.models import Team
from finops.costs.dependants import deletion_impact_text
from finops.lib import clock
from finops.lib.errors import UserError
from finops.reports import services, tasks
from finops.reports.models import ReportSchedule
from finops.reports.schedule_days import SendTime
from finops.reports.services import ReportScheduleDraft
from tests.cast import ACTOR, Cast, signed_in
from tests.due import run_due
from tests.finops.alerts.conftest import mail_server
from tests.pages import get_page, text_of
from tests.receivers import MailServer
from tests.world.days import at
from tests.world.deliveries import create_mail_channel, run_deliveries

__all__ = ["mail_server"]

LIST = "/a/acme/reports/schedules/"
FORM = {"team": "", "hour": 0, "time_zone": "UTC", "format": "email"}
APRIL_4, APRIL_5, APRIL_6 = date(2026, 4, 4), date(2026, 4, 5), date(2026, 4, 6)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.fixture
def channel(reported: Account) -> AlertChannel:
    return create_mail_channel(reported, "cfo@example.com", name="Finance")


def draft(channel: AlertChannel, **rest: Any) -> ReportScheduleDraft:
    return ReportScheduleDraft(**{"channel_id": channel.pk, "day": 5, **rest})


def create_schedule(channel: AlertChannel, **rest: Any) -> ReportSchedule:
    return services.create_report_schedule(account=channel.account, actor=ACTOR, draft=draft(channel, **rest))


def change_schedule(schedule: ReportSchedule, *, paused: bool = False, **rest: Any) -> ReportSchedule:
    return services.change_report_schedule(
        schedule=schedule, actor=ACTOR, draft=draft(schedule.channel, **rest), paused=paused
    )


def send_due(day: date | datetime) -> list[str]:
    """What beat and workers do on a day; the titles of what was sent."""
    before = set(AlertDelivery.objects.values_list("pk", flat=True))
    with clock.frozen(day) if isinstance(day, datetime) else at(day):
        for account_id, schedule_id in services.schedules_due():
            services.send_if_due(account=Account.objects.get(pk=account_id), schedule_id=schedule_id)
    rows = AlertDelivery.objects.exclude(pk__in=before).order_by("pk")
    return [row.message["title"] for row in rows]


def request_now(schedule: ReportSchedule) -> None:
    services.request_report(schedule=schedule, actor=ACTOR)


@pytest.mark.parametrize(
    ("day", "now", "due", "following"),
    [
        (5, utc(2026, 4, 4), date(2026, 2, 1), utc(2026, 4, 5)),
        (5, utc(2026, 4, 5), date(2026, 3, 1), utc(2026, 5, 5)),
        (28, utc(2027, 1, 1), date(2026, 11, 1), utc(2027, 1, 28)),
        (1, utc(2027, 1, 1), date(2026, 12, 1), utc(2027, 2, 1)),
    ],
)
def test_a_month_is_due_from_its_day_in_the_next(
    day: int, now: datetime, due: date, following: datetime
) -> None:
    send_time = SendTime(day, 0, "UTC")

    assert send_time.newest_month_due(now) == due
    assert send_time.next_moment(due, now) == following
    assert send_time.next_moment(None, now) == now


@pytest.mark.parametrize(
    ("send_time", "moment"),
    [
        (SendTime(5, 8, "Europe/Berlin"), utc(2026, 4, 5, 6)),
        (SendTime(29 - 1, 23, "America/Los_Angeles"), utc(2026, 4, 29, 6)),
        (SendTime(1, 0, "Pacific/Auckland"), utc(2026, 4, 1)),
        (SendTime(1, 15, "Pacific/Auckland"), utc(2026, 4, 1, 2)),
    ],
)
def test_the_time_is_of_its_zone_and_never_before_the_month_is_over(
    send_time: SendTime, moment: datetime
) -> None:
    """The clocks of Berlin and Los Angeles are at summer time by then."""
    before = moment - timedelta(seconds=1)

    assert send_time.moment(date(2026, 3, 1)) == moment
    assert send_time.newest_month_due(moment) == date(2026, 3, 1)
    assert send_time.newest_month_due(before) == date(2026, 2, 1)


@pytest.mark.parametrize("time_zone", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize("day", [1, 2, 27, 28])
@pytest.mark.parametrize("hour", [0, 23])
def test_each_month_goes_out_once_in_every_zone(time_zone: str, day: int, hour: int) -> None:
    """By the hour over half a year, as beat asks."""
    send_time, sent, sent_month = SendTime(day, hour, time_zone), [], date(2025, 12, 1)
    for step in range(24 * 190):
        now = utc(2026, 1, 15) + timedelta(hours=step)
        if send_time.is_due(sent_month, now):
            sent_month = send_time.newest_month_due(now)
            sent.append(sent_month)

    assert sent == [date(2026, month, 1) for month in range(sent[0].month, sent[0].month + len(sent))]
    assert len(sent) >= 5


def test_a_report_goes_out_once_a_month_from_its_day_on(channel: AlertChannel) -> None:
    create_schedule(channel)

    assert send_due(APRIL_4) == []
    assert send_due(APRIL_5) == ["'Acme': report for March 2026, $272.65"]
    assert send_due(APRIL_5) == send_due(APRIL_6) == []


def test_a_day_that_the_server_was_down_is_caught_up_with(channel: AlertChannel) -> None:
    create_schedule(channel)

    assert len(send_due(date(2026, 4, 19))) == 1


def test_a_new_schedule_begins_with_the_month_that_goes_on(channel: AlertChannel) -> None:
    schedule = create_schedule(channel)

    assert schedule.sent_month == date(2026, 2, 1)
    assert send_due(date(2026, 3, 20)) == []


def test_the_mail_has_text_html_the_chart_and_what_is_left_out_first(
    channel: AlertChannel, mail_server: MailServer
) -> None:
    request_now(create_schedule(channel))
    send_due(date(2026, 3, 20))
    run_deliveries()

    ((address, raw),) = mail_server.mails
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(mail, EmailMessage)
    assert (address, mail["Subject"]) == ("cfo@example.com", "'Acme': report for February 2026, $688.80")
    bodies = {kind: mail.get_body((kind,)) for kind in ("plain", "html")}
    texts = {kind: body.get_content() for kind, body in bodies.items() if body is not None}
    for text in texts.values():
        first = "$688.80 in February 2026: $30.80 (4.5%) not allocated to a team."
        assert text.index(first) < text.index("+$243.95") < text.index("Budgets at risk")
        assert "Cost per call" in text
        assert "/a/acme/reports/?month=2026-02" in text
        assert "Report from Acme in the FinOps Console. Manage it on the Reports page." in text
    assert "Open report" in texts["html"]
    assert 'alt="Spend by month in USD: Dec 2025 $444.85, Feb $688.80"' in texts["html"]
    assert [part["Content-ID"] for part in mail.walk() if part.get_content_maintype() == "image"] == [
        "<logo@finops-console>",
        "<chart@finops-console>",
    ]
    assert mail["List-Unsubscribe"]


def test_it_is_recorded_where_alerts_are(cast: Cast, channel: AlertChannel) -> None:
    schedule = create_schedule(channel)
    request_now(schedule)
    send_due(date(2026, 3, 20))

    client = signed_in(cast.viewer)
    assert "report for February 2026" in get_page(client, "/a/acme/alerts/deliveries/")
    delivery = AlertDelivery.objects.get()
    assert ReportSchedule.objects.get().delivery == delivery
    assert f"/a/acme/alerts/deliveries/{delivery.pk}/" in client.get(LIST).content.decode()
    assert "report for February 2026" in get_page(client, f"/a/acme/alerts/deliveries/{delivery.pk}/")


def test_a_report_of_a_team_is_of_its_cost(channel: AlertChannel) -> None:
    request_now(create_schedule(channel, team_id=Team.objects.get().pk))

    assert send_due(date(2026, 3, 20)) == ["'Acme': report of 'Core' for February 2026, $658.00"]
    (row,) = AlertDelivery.objects.all()
    assert row.message["url"].endswith("/a/acme/reports/?month=2026-02&team=Core")


def test_a_paused_schedule_sends_nothing_and_its_months_are_passed_over(channel: AlertChannel) -> None:
    schedule = create_schedule(channel)
    services.pause_report_schedule(schedule=schedule, actor=ACTOR)
    assert send_due(APRIL_5) == []
    with pytest.raises(UserError, match="paused"):
        request_now(schedule)

    with at(APRIL_6):
        services.resume_report_schedule(schedule=schedule, actor=ACTOR)

    assert send_due(APRIL_6) == []
    assert ReportSchedule.objects.get().sent_month == date(2026, 3, 1)


def test_sending_by_hand_has_a_limit_and_does_not_replace_the_month(channel: AlertChannel) -> None:
    schedule = create_schedule(channel)
    for _ in range(services.SENDS_AN_HOUR):
        request_now(schedule)
    with pytest.raises(UserError, match="5 reports were sent by hand within an hour"):
        request_now(schedule)

    assert len(send_due(date(2026, 3, 20))) == 1
    assert send_due(date(2026, 3, 20)) == []
    assert len(send_due(APRIL_5)) == 1


def test_two_workers_with_the_same_report_send_it_once(channel: AlertChannel) -> None:
    create_schedule(channel)
    with at(APRIL_5):
        row = ReportSchedule.objects.select_related("account", "team").get()
        report = services._report(row)

        first, second = services._send(row, report), services._send(row, report)

    assert first is not None
    assert second is None
    assert AlertDelivery.objects.count() == 1


def test_a_report_that_cannot_be_made_says_why_and_is_tried_again(
    cast: Cast, channel: AlertChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_schedule(channel)

    def refuse(*_args: object, **_fields: object) -> None:
        raise UserError("The query took too long.")

    with monkeypatch.context() as patched:
        patched.setattr(services, "build_report", refuse)
        assert send_due(APRIL_5) == []
    assert "The query took too long." in get_page(signed_in(cast.viewer), LIST)

    assert len(send_due(APRIL_5)) == 1
    assert ReportSchedule.objects.get().problem == ""


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
def test_what_a_schedule_may_not_be(channel: AlertChannel, fields: dict[str, Any], problem: str) -> None:
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
    with pytest.raises(UserError, match="is not an e-mail channel"):
        create_schedule(channel)

    with account_scope(cast.other_account):
        elsewhere = create_mail_channel(cast.other_account, "x@example.com")
    with pytest.raises(UserError, match="choose a channel of this account"):
        create_schedule(channel, channel_id=elsewhere.pk)


def test_members_make_pause_send_and_delete_it_and_viewers_read(cast: Cast, channel: AlertChannel) -> None:
    member, viewer = signed_in(cast.member), signed_in(cast.viewer)
    assert "No schedule yet" in get_page(viewer, LIST)

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
    for verb, said in (
        ("send", "The report is being sent."),
        ("pause", "Schedule paused."),
        ("resume", "Schedule resumed."),
        ("delete", "Schedule deleted."),
    ):
        assert said in text_of(member.post(f"{LIST}{schedule.pk}/{verb}/", follow=True))
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
    shown = get_page(signed_in(cast.viewer), LIST)
    for text in ("Board", "board@example.com", "9 at 07:00", "Europe/Berlin", "E-mail with CSV", "Paused"):
        assert text in shown


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


def test_a_sent_month_is_not_sent_again_on_a_later_day_of_it(channel: AlertChannel) -> None:
    schedule = create_schedule(channel)
    assert len(send_due(APRIL_5)) == 1

    row = change_schedule(schedule, day=20)

    assert send_due(date(2026, 4, 20)) == []
    assert row.send_time.next_moment(row.sent_month, utc(2026, 4, 20, 12)) == utc(2026, 5, 20)


def test_a_month_whose_new_time_has_passed_is_sent_at_once(channel: AlertChannel) -> None:
    schedule = create_schedule(channel, day=20)
    assert send_due(APRIL_5) == []

    with at(APRIL_6):
        change_schedule(schedule, day=5)

    assert len(send_due(APRIL_6)) == 1


def test_a_report_goes_out_at_its_hour(channel: AlertChannel) -> None:
    create_schedule(channel, hour=8, time_zone="Europe/Berlin")

    assert send_due(utc(2026, 4, 5, 5, 59)) == []
    assert len(send_due(utc(2026, 4, 5, 6))) == 1


def test_what_is_edited_while_a_report_is_made_is_made_again(channel: AlertChannel) -> None:
    """The recipients of one team never get the figures of another."""
    schedule = create_schedule(channel)
    with at(APRIL_5):
        snapshot = ReportSchedule.objects.select_related("account", "team").get()
        report = services._report(snapshot)
        change_schedule(schedule, team_id=Team.objects.get().pk)

        assert services._send(snapshot, report) is None

    assert send_due(APRIL_5) == ["'Acme': report of 'Core' for March 2026, $251.75"]


def test_a_report_by_hand_before_the_day_leaves_the_report_of_that_day(channel: AlertChannel) -> None:
    schedule = create_schedule(channel, day=25)
    with at(date(2026, 3, 20)):
        request_now(schedule)

    assert len(send_due(date(2026, 3, 20))) == 1
    assert send_due(date(2026, 3, 25)) == ["'Acme': report for February 2026, $688.80"]


def test_the_csv_beside_the_mail_is_that_of_the_page(
    cast: Cast, channel: AlertChannel, mail_server: MailServer
) -> None:
    request_now(create_schedule(channel, format="email_csv"))
    send_due(date(2026, 3, 20))
    run_deliveries()

    ((_, raw),) = mail_server.mails
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(mail, EmailMessage)
    assert mail.get_content_type() == "multipart/mixed"
    assert mail["Subject"] == "'Acme': report for February 2026, $688.80"
    assert mail.get_body(("html",)) is not None
    (file,) = [part for part in mail.walk() if part.get_filename() == "report-2026-02.csv"]
    assert (file.get_content_type(), file.get_content_disposition()) == ("text/csv", "attachment")
    with at(date(2026, 3, 20)):
        page = signed_in(cast.viewer).get("/a/acme/reports/", {"month": "2026-02", "format": "csv"})
    text = b"".join(page).decode()
    assert file.get_content().splitlines() == text.splitlines()


def test_a_bad_form_keeps_what_was_typed(cast: Cast, channel: AlertChannel) -> None:
    answer = signed_in(cast.member).post(f"{LIST}new/", {"channel": channel.pk, "day": 40})

    assert answer.status_code == 422
    assert 'value="40"' in answer.content.decode()


def test_beat_and_worker_send_it(channel: AlertChannel) -> None:
    request_now(create_schedule(channel))

    run_due(tasks.send_due)

    assert AlertDelivery.objects.count() == 1


def test_who_deletes_the_channel_or_the_team_reads_of_the_schedule(channel: AlertChannel) -> None:
    team = Team.objects.get()
    create_schedule(channel, team_id=team.pk)

    for row in (channel, team):
        assert "report schedule" in deletion_impact_text(row)

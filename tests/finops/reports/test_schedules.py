"""Reports by e-mail: whose day has come, once a month, and by hand."""

from __future__ import annotations

import email
import email.policy
from datetime import date
from email.message import EmailMessage
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.allocation.models import Team
from finops.costs.dependants import deletion_impact_text
from finops.lib.errors import UserError
from finops.reports import services, tasks
from finops.reports.models import ReportSchedule
from finops.reports.schedule_days import newest_month_due, next_date
from tests.cast import ACTOR, Cast, signed_in
from tests.due import run_due
from tests.finops.alerts.conftest import mail_server
from tests.pages import get_page, text_of
from tests.receivers import MailServer
from tests.world.days import at
from tests.world.deliveries import create_mail_channel, run_deliveries

__all__ = ["mail_server"]

LIST = "/a/acme/reports/schedules/"
APRIL_4, APRIL_5, APRIL_6 = date(2026, 4, 4), date(2026, 4, 5), date(2026, 4, 6)


@pytest.fixture
def channel(reported: Account) -> AlertChannel:
    return create_mail_channel(reported, "cfo@example.com", name="Finance")


def create_schedule(channel: AlertChannel, **rest: Any) -> ReportSchedule:
    fields = {"channel_id": channel.pk, "team_id": None, "day": 5, **rest}
    return services.create_report_schedule(account=channel.account, actor=ACTOR, **fields)


def send_due(day: date) -> list[str]:
    """What beat and workers do on a day; the titles of what was sent."""
    before = set(AlertDelivery.objects.values_list("pk", flat=True))
    with at(day):
        for account_id, schedule_id in services.schedules_due():
            services.send_if_due(account=Account.objects.get(pk=account_id), schedule_id=schedule_id)
    rows = AlertDelivery.objects.exclude(pk__in=before).order_by("pk")
    return [row.message["title"] for row in rows]


def request_now(schedule: ReportSchedule) -> None:
    services.request_report(schedule=schedule, actor=ACTOR)


@pytest.mark.parametrize(
    ("day", "today", "due", "following"),
    [
        (5, date(2026, 4, 4), date(2026, 2, 1), date(2026, 4, 5)),
        (5, date(2026, 4, 5), date(2026, 3, 1), date(2026, 5, 5)),
        (28, date(2027, 1, 1), date(2026, 11, 1), date(2027, 1, 28)),
        (1, date(2027, 1, 1), date(2026, 12, 1), date(2027, 2, 1)),
    ],
)
def test_a_month_is_due_from_its_day_in_the_next(day: int, today: date, due: date, following: date) -> None:
    assert newest_month_due(day, today) == due
    assert next_date(day, due, today) == following
    assert next_date(day, None, today) == today


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
        assert text.index("$30.80 not allocated to a team.") < text.index("Budgets at risk")
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

    created = member.post(f"{LIST}new/", {"channel": channel.pk, "team": "", "day": 7}, follow=True)

    assert "Schedule created." in text_of(created)
    schedule = ReportSchedule.objects.get()
    assert (schedule.day, schedule.created_by) == (7, cast.member)
    page = get_page(viewer, LIST)
    assert "Whole account" in page
    assert "Apr 7" in page
    assert "Send now" not in page
    for verb in ("send", "pause", "resume", "delete"):
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

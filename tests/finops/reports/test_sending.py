"""Reports by email: on their day, once a month, and by hand."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, date, datetime
from email.message import EmailMessage

import pytest

from accounts.models import Account
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.allocation.models import Team
from finops.lib import clock
from finops.lib.errors import UserError
from finops.reports import services, tasks
from finops.reports.models import ReportSchedule
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.days import at
from tests.factories.deliveries import run_deliveries
from tests.finops.alerts.conftest import mail_server
from tests.finops.reports.conftest import change_schedule, create_schedule
from tests.pages import get_page
from tests.periodic_tasks import run_due
from tests.receivers import MailServer

__all__ = ["mail_server"]

LIST = "/a/acme/reports/schedules/"
APRIL_4, APRIL_5, APRIL_6 = date(2026, 4, 4), date(2026, 4, 5), date(2026, 4, 6)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


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


def test_a_report_goes_out_once_a_month_from_its_day_on(channel: AlertChannel) -> None:
    create_schedule(channel)

    assert send_due(APRIL_4) == []
    assert send_due(APRIL_5) == ["'Acme': report for March 2026, $272.65"]
    assert send_due(APRIL_5) == send_due(APRIL_6) == []


def test_a_day_that_the_server_was_down_is_caught_up_with(channel: AlertChannel) -> None:
    create_schedule(channel)

    assert len(send_due(date(2026, 4, 19))) == 1


def test_a_new_schedule_begins_with_the_month_that_continues(channel: AlertChannel) -> None:
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


def test_a_report_is_recorded_with_the_deliveries_of_alerts(cast: Cast, channel: AlertChannel) -> None:
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
    with pytest.raises(UserError, match="5 reports were sent manually within an hour"):
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


def test_a_schedule_edited_during_its_report_is_run_again(channel: AlertChannel) -> None:
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


def test_beat_and_worker_send_it(channel: AlertChannel) -> None:
    request_now(create_schedule(channel))

    run_due(tasks.send_due)

    assert AlertDelivery.objects.count() == 1

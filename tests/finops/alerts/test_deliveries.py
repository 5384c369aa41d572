"""Deliveries: sent once, retried where that can help, with the receiver's response of each attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts import queries, services
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.schemas import DeliveriesQuery
from finops.alerts.services import deliveries
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.outbound import use_resolver
from tests.cast import ACTOR, Cast
from tests.factories.days import NOON
from tests.factories.deliveries import (
    attempt_answers,
    create_channel_to,
    create_mail_channel,
    deliver,
    message,
    reload,
    retry_delay,
    run_deliveries,
)
from tests.receivers import (
    Behaviour,
    Receiver,
    flood,
    hang,
    http_receiver,
    reset_connection,
    respond_with,
    send_no_http,
)

KINDS = ["slack", "microsoft_teams", "pagerduty", "webhook"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_arrives_with_its_figures_and_link(acme: Account, receiver: Receiver, kind: str) -> None:
    row = deliver(create_channel_to(acme, receiver, kind))

    assert run_deliveries() == 1

    delivery = reload(row)
    assert (delivery.status, delivery.delivered_at, delivery.next_attempt_at) == ("delivered", NOON, None)
    assert attempt_answers(row) == [(200, "ok")]
    assert delivery.attempts[0]["seconds"] > 0
    body = receiver.requests[0].body.decode()
    for figure in ("Budget Platform has reached 80 %", "812.50 USD", "1,000.00 USD", message().url):
        assert figure in body
    assert receiver.requests[0].headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    "behave",
    [
        respond_with(500),
        respond_with(503),
        respond_with(408),
        respond_with(409),
        respond_with(425),
        reset_connection,
        send_no_http,
    ],
    ids=["500", "503", "408", "409", "425", "dropped", "no HTTP"],
)
def test_a_temporary_failure_is_retried_until_delivery(
    acme: Account, receiver: Receiver, behave: Behaviour
) -> None:
    receiver.behave = behave
    row = deliver(create_channel_to(acme, receiver))

    run_deliveries()
    assert reload(row).status == "waiting"
    receiver.answer(202, "accepted")
    assert run_deliveries(at=NOON + timedelta(seconds=29)) == 0
    assert run_deliveries(at=NOON + timedelta(seconds=36)) == 1

    delivery = reload(row)
    assert (delivery.status, len(delivery.attempts)) == ("delivered", 2)
    assert attempt_answers(row)[1] == (202, "accepted")


def test_a_receiver_that_hangs_is_left_and_tried_again(
    acme: Account, receiver: Receiver, settings: Settings
) -> None:
    settings.ALERT_SEND_SECONDS = 0.3
    receiver.behave = hang
    row = deliver(create_channel_to(acme, receiver))

    run_deliveries()

    assert reload(row).status == "waiting"
    assert attempt_answers(row) == [(None, "127.0.0.1 did not answer in time.")]


def test_back_off_grows_and_after_seven_attempts_it_is_given_up(acme: Account, receiver: Receiver) -> None:
    receiver.answer(500, "down")
    row = deliver(create_channel_to(acme, receiver))
    now, intervals = NOON, []
    while (state := reload(row)).status == "waiting":
        assert state.next_attempt_at is not None
        now = max(now, state.next_attempt_at)
        assert run_deliveries(at=now) == 1
        if reload(row).status == "waiting":
            intervals.append(retry_delay(row))

    usual = [timedelta(minutes=minutes) for minutes in (0.5, 2, 10, 60, 240, 720)]
    assert len(intervals) == len(usual)
    assert all(least <= wait <= least * 1.2 for least, wait in zip(usual, intervals, strict=True))
    assert reload(row).status == "failed"
    assert attempt_answers(row) == [(500, "down")] * 7
    assert run_deliveries(at=now + timedelta(days=30)) == 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 413, 422])
def test_a_failure_that_a_retry_cannot_fix_is_final(acme: Account, receiver: Receiver, status: int) -> None:
    receiver.answer(status, "invalid_payload")
    row = deliver(create_channel_to(acme, receiver))

    run_deliveries()

    assert (reload(row).status, len(receiver.requests)) == ("failed", 1)
    reply = (
        "The receiver returned 410 Gone: the address no longer exists."
        if status == 410
        else "invalid_payload"
    )
    assert attempt_answers(row) == [(status, reply)]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_a_private_address_is_not_followed(
    acme: Account, receiver: Receiver, status: int
) -> None:
    with http_receiver("127.0.0.2") as inside:
        receiver.answer(status, "", Location=inside.url)
        row = deliver(create_channel_to(acme, receiver))
        run_deliveries()
        assert inside.requests == []

    assert reload(row).status == "failed"
    assert attempt_answers(row)[0][0] == status
    assert "redirects are not followed" in attempt_answers(row)[0][1]


@pytest.mark.parametrize(
    ("retry_after", "least"),
    [
        ("300", timedelta(minutes=5)),
        ("5", timedelta(seconds=30)),
        ("Fri, 20 Mar 2026 12:30:00 GMT", timedelta(minutes=30)),
        ("Fri, 20 Mar 2020 12:30:00 GMT", timedelta(seconds=30)),
        ("99999999999999", timedelta(days=1)),
        ("soon", timedelta(seconds=30)),
        ("-5", timedelta(seconds=30)),
        ("Mon, 99 Foo 2026", timedelta(seconds=30)),
    ],
)
def test_retry_after_is_respected(
    acme: Account, receiver: Receiver, retry_after: str, least: timedelta
) -> None:
    receiver.answer(429, "slow down", Retry_After=retry_after)
    row = deliver(create_channel_to(acme, receiver))

    run_deliveries()

    assert least <= retry_delay(row) <= max(least, timedelta(seconds=36))


def test_a_body_without_end_is_kept_cut(acme: Account, receiver: Receiver) -> None:
    receiver.behave = flood
    row = deliver(create_channel_to(acme, receiver))

    run_deliveries()

    assert reload(row).status == "delivered"
    assert len(attempt_answers(row)[0][1]) == 500


def test_an_answer_that_no_database_takes_is_kept_without_what_it_cannot(
    acme: Account, receiver: Receiver
) -> None:
    receiver.answer(500, "a\0b\r\n\u202ec\ud7ff")
    row = deliver(create_channel_to(acme, receiver))

    run_deliveries()

    assert attempt_answers(row) == [(500, "a b c")]


def test_an_outage_is_outlived_and_what_waited_arrives_in_order(acme: Account, settings: Settings) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]
    with http_receiver() as first:
        channel = create_channel_to(acme, first)
    rows = [deliver(channel, title=f"Alert {number}") for number in range(5)]
    for minutes in (0, 1, 5):
        run_deliveries(at=NOON + timedelta(minutes=minutes))
    assert {reload(row).status for row in rows} == {"waiting"}
    assert "could not be reached" in attempt_answers(rows[0])[0][1]

    with http_receiver(port=first.port) as again:
        run_deliveries(at=NOON + timedelta(hours=1))

    assert {reload(row).status for row in rows} == {"delivered"}
    assert sorted(each.json["text"].split("\n")[0] for each in again.requests) == [
        f"🟠 Alert {number}" for number in range(5)
    ]


def test_dns_that_turns_to_a_private_address_after_the_channel_was_saved_is_refused(acme: Account) -> None:
    with use_resolver(lambda host, port: ["93.184.216.34"]):
        channel, _secret = services.create_channel(
            account=acme, actor=ACTOR, name="Hook", kind="slack", target={"url": "https://turn.example.com/x"}
        )
    row = deliver(channel)

    with use_resolver(lambda host, port: ["169.254.169.254"]):
        run_deliveries()

    assert reload(row).status == "failed"
    assert "is in a private or reserved network. Enter a public address." in attempt_answers(row)[0][1]


def test_one_delivery_of_a_channel_is_tried_at_a_time_and_delays_no_other_channel(
    acme: Account, receiver: Receiver
) -> None:
    slow, quick = (
        create_channel_to(acme, receiver, name="Slow"),
        create_channel_to(acme, receiver, name="Quick"),
    )
    rows = [deliver(slow), deliver(slow), deliver(quick)]

    assert services.send_due() == [(acme.pk, rows[0].pk), (acme.pk, rows[2].pk)]


def test_a_task_is_queued_on_commit_once_for_each_waiting_channel(
    acme: Account, receiver: Receiver, task_arguments: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    channel = create_channel_to(acme, receiver)
    with django_capture_on_commit_callbacks(execute=True):
        rows = [deliver(channel), deliver(channel)]
        assert task_arguments == []
    assert task_arguments == [[acme.pk, rows[0].pk]]

    assert services.send_delivery(account=acme, delivery_id=rows[0].pk)
    assert [reload(row).status for row in rows] == ["delivered", "delivered"]
    assert task_arguments[1:] == []


def test_a_backlog_is_worked_off_in_spells(
    acme: Account, receiver: Receiver, task_arguments: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "SPELL_SECONDS", -1.0)
    channel = create_channel_to(acme, receiver)
    rows = [deliver(channel), deliver(channel)]

    services.send_delivery(account=acme, delivery_id=rows[0].pk)

    assert [reload(row).status for row in rows] == ["delivered", "waiting"]
    assert task_arguments == [[acme.pk, rows[1].pk]]


def test_a_failure_ends_a_spell(acme: Account, receiver: Receiver) -> None:
    channel = create_channel_to(acme, receiver)
    rows = [deliver(channel), deliver(channel)]
    receiver.answer(500)

    services.send_delivery(account=acme, delivery_id=rows[0].pk)

    assert len(receiver.requests) == 1
    assert attempt_answers(rows[1]) == []


def test_a_rolled_back_transaction_sends_nothing(
    acme: Account, receiver: Receiver, django_capture_on_commit_callbacks: Any
) -> None:
    from django.db import transaction

    channel = create_channel_to(acme, receiver)
    with django_capture_on_commit_callbacks() as callbacks, transaction.atomic():
        deliver(channel)
        transaction.set_rollback(True)

    assert callbacks == []
    assert services.send_due() == []


def test_resending_is_a_new_delivery_that_names_the_old(acme: Account, receiver: Receiver) -> None:
    receiver.answer(404, "no_service")
    row = deliver(create_channel_to(acme, receiver, "webhook"))
    with pytest.raises(UserError, match=r"Delivery is still in progress\. Resend it when it has ended"):
        services.resend(delivery=row, actor=ACTOR)
    run_deliveries()
    receiver.answer(200)

    again = services.resend(delivery=row, actor=ACTOR)
    run_deliveries()

    assert (reload(again).status, reload(again).resend_of_id) == ("delivered", row.pk)
    first, second = receiver.requests
    assert first.json["data"] == second.json["data"]
    assert first.headers["webhook-id"] != second.headers["webhook-id"]
    entry = AuditEntry.objects.get(account=acme, action="alert_delivery.resend")
    assert entry.detail == {"id": row.pk, "new_id": again.pk}


def test_deliveries_of_a_deleted_channel_are_not_resent(acme: Account, receiver: Receiver) -> None:
    channel = create_channel_to(acme, receiver)
    row = deliver(channel)
    run_deliveries()
    services.delete_channel(channel=channel, actor=ACTOR)

    with pytest.raises(UserError, match="was deleted"):
        services.resend(delivery=row, actor=ACTOR)


def test_the_test_button_sends_at_once_and_says_how_it_went(acme: Account, receiver: Receiver) -> None:
    channel = create_channel_to(acme, receiver)

    row = services.test_channel(channel=channel, actor=ACTOR)

    assert (row.status, row.is_test, len(receiver.requests)) == ("delivered", True, 1)
    assert "Test message of an alert channel" in receiver.requests[0].json["text"]
    assert AlertChannel.objects.get(pk=channel.pk).tested_at == NOON

    receiver.answer(500, "down")
    failed = services.test_channel(channel=channel, actor=ACTOR)
    assert (failed.status, attempt_answers(failed)) == ("failed", [(500, "down")])
    assert services.send_due() == []


def test_the_test_button_is_for_a_person_not_for_a_flood(acme: Account, receiver: Receiver) -> None:
    channel = create_channel_to(acme, receiver)
    for _ in range(10):
        services.test_channel(channel=channel, actor=ACTOR)

    with pytest.raises(UserError, match="10 channel tests within a minute"):
        services.test_channel(channel=channel, actor=ACTOR)
    assert len(receiver.requests) == 10


def test_a_key_that_is_gone_fails_the_delivery_with_instructions(
    acme: Account, receiver: Receiver, settings: Settings
) -> None:
    row = deliver(create_channel_to(acme, receiver))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "other" * 20, []

    run_deliveries()

    assert reload(row).status == "failed"
    assert (
        "The stored secret is unreadable because the server's secret key was replaced. Enter it again."
    ) in attempt_answers(row)[0][1]
    assert receiver.requests == []


def test_ended_deliveries_are_kept_ninety_days_and_waiting_ones_longer(
    acme: Account, receiver: Receiver
) -> None:
    channel = create_channel_to(acme, receiver)
    row = deliver(channel)
    run_deliveries()
    with clock.frozen(NOON + timedelta(days=1)):
        waiting = deliver(channel)

    with clock.frozen(NOON + timedelta(days=90)):
        assert services.sweep() == 0
    with clock.frozen(NOON + timedelta(days=92)):
        assert services.sweep() == 1
    assert list(AlertDelivery.objects.values_list("pk", flat=True)) == [waiting.pk]
    assert row.pk != waiting.pk


def test_deliveries_are_listed_newest_first_page_by_page(acme: Account, receiver: Receiver) -> None:
    channel = create_channel_to(acme, receiver)
    rows = [deliver(channel, title=f"Alert {number}") for number in range(5)]
    run_deliveries()
    deliver(create_mail_channel(acme, "a@example.com"), title="By mail")

    first = queries.deliveries(acme, DeliveriesQuery(limit=4, channel=channel.pk))
    second = queries.deliveries(acme, DeliveriesQuery(limit=4, channel=channel.pk, cursor=first.cursor))
    assert [each.id for each in (*first.deliveries, *second.deliveries)] == [row.pk for row in reversed(rows)]
    assert (first.total, second.cursor) == (5, "")
    assert [
        each.title for each in queries.deliveries(acme, DeliveriesQuery(statuses=["waiting"])).deliveries
    ] == ["By mail"]
    with pytest.raises(UserError, match="cursor"):
        queries.deliveries(acme, DeliveriesQuery(limit=4, cursor=first.cursor))


def test_an_account_sees_and_sends_its_own_deliveries_alone(
    acme: Account, receiver: Receiver, cast: Cast
) -> None:
    row = deliver(create_channel_to(acme, receiver))

    assert not services.send_delivery(account=cast.other_account, delivery_id=row.pk)
    with account_scope(cast.other_account):
        assert queries.deliveries(cast.other_account, DeliveriesQuery()).total == 0
    assert receiver.requests == []


def test_a_worker_that_died_is_followed_by_another_with_the_same_id(
    acme: Account, receiver: Receiver
) -> None:
    """It had sent the message and not noted it: the receiver tells by the id."""
    row = deliver(create_channel_to(acme, receiver, "webhook"))
    claimed = deliveries.claim_delivery(row.pk)
    assert claimed is not None
    deliveries._send(claimed)

    assert run_deliveries(at=NOON + timedelta(minutes=4)) == 0
    assert run_deliveries(at=NOON + timedelta(minutes=6)) == 1

    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == f"msg_{row.pk}"
    assert first.body == second.body
    assert reload(row).status == "delivered"
    assert attempt_answers(row) == [(None, "The server stopped while sending."), (200, "ok")]


def test_who_was_overtaken_notes_nothing(acme: Account, receiver: Receiver) -> None:
    row = deliver(create_channel_to(acme, receiver))
    slow = deliveries.claim_delivery(row.pk)
    assert slow is not None
    run_deliveries(at=NOON + timedelta(minutes=6))

    assert deliveries.carry_out(slow) is None
    assert attempt_answers(row) == [(None, "The server stopped while sending."), (200, "ok")]


def test_a_message_that_kills_its_workers_ends_after_seven(acme: Account, receiver: Receiver) -> None:
    row = deliver(create_channel_to(acme, receiver))
    now = NOON
    for _ in range(8):
        with clock.frozen(now):
            deliveries.claim_delivery(row.pk)
        now += timedelta(minutes=6)

    assert reload(row).status == "failed"
    assert attempt_answers(row)[-1] == (None, "No more attempts.")
    assert len(attempt_answers(row)) == 8

"""The audit log at a receiver: signed, in order, each entry at least once, paused after three days."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from standardwebhooks import Webhook

from accounts import audit
from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.audit_webhooks import sending, services
from finops.audit_webhooks.models import AuditDelivery, AuditWebhook
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.outbound import use_resolver
from finops.notifications.models import Notification
from tests.cast import ACTOR, PASSWORD, Cast
from tests.receivers import Receiver, http_receiver
from tests.waiting import threads


def record(cast: Cast, *targets: str) -> None:
    for target in targets:
        audit.record(account=cast.account, actor=ACTOR, action="test.act", target=target)


def create(cast: Cast, receiver: Receiver, **options: Any) -> tuple[AuditWebhook, str]:
    return services.create_audit_webhook(account=cast.account, actor=ACTOR, url=receiver.url, **options)


def send(cast: Cast, webhook: AuditWebhook) -> int:
    return sending.send(account=cast.account, webhook_id=webhook.pk)


def events(receiver: Receiver) -> list[dict[str, Any]]:
    return [event for request in receiver.requests for event in request.json["data"]["events"]]


def targets(receiver: Receiver) -> list[str]:
    return [event["target"] for event in events(receiver) if event["action"] == "test.act"]


def due_webhook(cast: Cast) -> AuditWebhook:
    with account_scope(cast.account):
        AuditWebhook.objects.update(next_attempt_at=clock.now())
        return AuditWebhook.objects.get()


def test_entries_arrive_signed_in_order_with_their_ids(cast: Cast, receiver: Receiver) -> None:
    webhook, secret = create(cast, receiver)
    record(cast, "a", "b", "c")

    arrived = send(cast, webhook)

    request = receiver.requests[0]
    body = Webhook(secret).verify(request.body, request.headers)
    assert (len(receiver.requests), arrived) == (1, 4)
    assert body["type"] == "audit_log.entries"
    assert body["data"]["account"] == {"slug": "acme", "name": "Acme"}
    assert targets(receiver) == ["a", "b", "c"]
    ids = [int(event["id"].removeprefix("audit_")) for event in events(receiver)]
    assert ids == sorted(set(ids))
    assert set(events(receiver)[-1]) == {"id", "at", "actor", "action", "target", "detail"}
    assert send(cast, webhook) == 0


def test_sign_ins_are_in_it(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    Client().post("/auth/login/", {"login": "member@example.com", "password": PASSWORD})

    send(cast, webhook)

    assert "user.sign_in" in [event["action"] for event in events(receiver)]


def test_a_webhook_starts_now_or_at_an_earlier_time(cast: Cast, receiver: Receiver) -> None:
    record(cast, "old")
    with account_scope(cast.account):
        AuditEntry.objects.filter(target="old").update(at=clock.now() - timedelta(days=40))
    record(cast, "newer")
    webhook, _secret = create(cast, receiver)
    send(cast, webhook)
    from_now = targets(receiver)

    services.send_again(account=cast.account, actor=ACTOR, start_at=clock.now() - timedelta(days=30))
    send(cast, webhook)
    from_days_ago = targets(receiver)
    services.send_again(account=cast.account, actor=ACTOR, start_at=clock.now() - timedelta(days=60))
    send(cast, webhook)

    assert (from_now, from_days_ago, targets(receiver)) == ([], ["newer"], ["newer", "old", "newer"])


def test_more_than_a_request_holds_come_in_several(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    names = [f"n{number}" for number in range(250)]
    record(cast, *names)

    send(cast, webhook)

    assert [len(request.json["data"]["events"]) for request in receiver.requests] == [100, 100, 51]
    assert targets(receiver) == names


def test_a_failed_entry_is_resent_unchanged_before_newer_ones(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    record(cast, "a")
    receiver.answer(500, "broken")
    send(cast, webhook)
    record(cast, "b")
    early = send(cast, webhook)
    receiver.answer(403, "no")
    send(cast, due_webhook(cast))
    receiver.answer(200)

    send(cast, due_webhook(cast))

    first, second, third, last = receiver.requests
    assert early == 0
    assert first.body == second.body == third.body
    assert first.headers["webhook-id"] == third.headers["webhook-id"] != last.headers["webhook-id"]
    assert targets(receiver)[-2:] == ["a", "b"]
    with account_scope(cast.account):
        delivery = AuditDelivery.objects.order_by("pk")[0]
    assert [attempt["status_code"] for attempt in delivery.attempts] == [500, 403, 200]


def test_a_worker_that_dies_twice_sends_the_same_delivery_again(cast: Cast, receiver: Receiver) -> None:
    """Killed before its request, and after it before its answer was stored: the receiver sees each event ID, none new."""
    webhook, _secret = create(cast, receiver)
    record(cast, "a", "b")
    with account_scope(cast.account):
        sending.claim_delivery(webhook.pk)
        open_claim = sending.claim_delivery(webhook.pk)
        due_webhook(cast)
        claim = sending.claim_delivery(webhook.pk)
        assert claim is not None
        sending._post(claim)
    in_lease = send(cast, webhook)

    arrived = send(cast, due_webhook(cast))

    assert (open_claim, in_lease, arrived) == (None, 0, 3)
    assert [request.body for request in receiver.requests] == [receiver.requests[0].body] * 2
    assert targets(receiver) == ["a", "b", "a", "b"]
    assert send(cast, due_webhook(cast)) == 0


def test_an_answer_that_comes_after_the_claim_ended_changes_nothing(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    with account_scope(cast.account):
        late = sending.claim_delivery(webhook.pk)
        assert late is not None
        outcome = sending._post(late)
        send(cast, due_webhook(cast))

        assert not sending._record_outcome(late, outcome, 1.0)
        assert AuditDelivery.objects.get().attempt_count == 1


@pytest.mark.django_db(transaction=True)
def test_an_entry_that_commits_after_a_newer_one_was_sent_arrives_too(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    with account_scope(cast.account), connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('accounts_auditentry', 'id'))")
        lower = cursor.fetchone()[0]
    record(cast, "newer")
    send(cast, webhook)
    AuditEntry(pk=lower, account=cast.account, actor_label="t", action="test.act", target="late").save(
        force_insert=True
    )

    send(cast, webhook)

    assert targets(receiver) == ["newer", "late"]
    assert send(cast, webhook) == 0


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_workers_send_an_entry_once(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    record(cast, *(str(number) for number in range(120)))

    with threads(4) as call:
        for future in [call(send, cast, webhook) for _ in range(4)]:
            future.result()
    send(cast, due_webhook(cast))

    assert targets(receiver) == [str(number) for number in range(120)]


def test_a_webhook_is_paused_after_three_days_with_a_notice_and_can_be_resumed(
    cast: Cast, receiver: Receiver
) -> None:
    webhook, _secret = create(cast, receiver)
    record(cast, "a")
    receiver.answer(500, "broken")
    send(cast, webhook)
    with account_scope(cast.account):
        AuditWebhook.objects.update(failing_since=clock.now() - timedelta(days=3))
    send(cast, due_webhook(cast))
    paused = due_webhook(cast)
    due = sending.webhooks_due()
    receiver.answer(200)

    services.resume(account=cast.account, actor=ACTOR)
    send(cast, webhook)

    assert paused.paused_at is not None
    assert (due, "broken" in paused.pause_reason) == ([], True)
    with account_scope(cast.account):
        notice = Notification.objects.get()
        assert ("Audit log webhook paused" in notice.title, notice.admins_only) == (True, True)
    actions = [event["action"] for event in events(receiver)]
    assert {"audit_webhook.create", "audit_webhook.pause", "audit_webhook.resume"} <= set(actions)
    assert targets(receiver)[-1] == "a"


def test_both_secrets_sign_for_a_day(cast: Cast, receiver: Receiver) -> None:
    webhook, old = create(cast, receiver)
    new = services.rotate_secret(account=cast.account, actor=ACTOR)
    send(cast, webhook)
    with clock.frozen(timezone.now() + timedelta(hours=25)):
        record(cast, "later")
        send(cast, webhook)
        with pytest.raises(Exception, match="No matching signature"):
            _verify(old, receiver)
        _verify(new, receiver)

    first = receiver.requests[0]
    for secret in (old, new):
        Webhook(secret).verify(first.body, first.headers)


def _verify(secret: str, receiver: Receiver) -> None:
    request, hook = receiver.requests[-1], Webhook(secret)
    moment = clock.now()
    signature = hook.sign(request.headers["webhook-id"], moment, request.body.decode())
    if signature not in request.headers["webhook-signature"].split():
        raise ValueError("No matching signature")


@pytest.mark.parametrize(
    "url", ["https://10.0.0.8/hook", "https://169.254.169.254/latest", "http://example.com/hook", "ftp://x/y"]
)
def test_addresses_within_the_network_are_refused(cast: Cast, settings: Any, url: str) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []

    with pytest.raises(UserError):
        services.create_audit_webhook(account=cast.account, actor=ACTOR, url=url)


def test_a_name_that_leads_into_the_network_later_gets_nothing(
    cast: Cast, receiver: Receiver, settings: Any
) -> None:
    """DNS rebinding: the address is judged again at each attempt, and is the one that is connected to."""
    settings.ALERT_ALLOWED_NETWORKS = []
    url = f"https://siem.example.com:{receiver.port}/hook"
    with use_resolver(lambda _host, _port: ["93.184.216.34"]):
        services.create_audit_webhook(account=cast.account, actor=ACTOR, url=url)
    record(cast, "a")

    for address in ("127.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1"):
        addresses = ["93.184.216.34", address]
        with use_resolver(lambda _host, _port: addresses):  # noqa: B023 called within the turn
            assert send(cast, due_webhook(cast)) == 0
            outcome = sending.send_test(account=cast.account, actor=ACTOR)
        assert (outcome.verdict, "private or reserved network" in outcome.answer) == ("failed", True)
    assert receiver.requests == []


def test_a_redirect_is_not_followed(cast: Cast, receiver: Receiver) -> None:
    with http_receiver() as other:
        receiver.answer(307, "", Location=other.url)
        webhook, _secret = create(cast, receiver)
        record(cast, "a")

        assert send(cast, webhook) == 0
        assert (len(receiver.requests), other.requests) == (1, [])


def test_sending_again_from_a_later_day_skips_nothing_that_was_not_sent(
    cast: Cast, receiver: Receiver
) -> None:
    """Else who pauses it, acts, and sends again from the next day hides what she did."""
    webhook, _secret = create(cast, receiver)
    record(cast, "arrived")
    send(cast, webhook)
    services.pause(account=cast.account, actor=ACTOR)
    record(cast, "hidden")
    with clock.frozen(timezone.now() + timedelta(days=1)):
        record(cast, "later")
        services.send_again(account=cast.account, actor=ACTOR, start_at=clock.now() - timedelta(hours=1))
        services.resume(account=cast.account, actor=ACTOR)
        send(cast, due_webhook(cast))

    assert targets(receiver) == ["arrived", "hidden", "later"]


def test_admins_hear_that_it_was_led_elsewhere_paused_or_deleted(cast: Cast, receiver: Receiver) -> None:
    """The receiver of before hears nothing."""
    create(cast, receiver)
    services.change_url(account=cast.account, actor=ACTOR, url=f"{receiver.url}/2")
    services.pause(account=cast.account, actor=ACTOR)
    services.delete_audit_webhook(account=cast.account, actor=ACTOR)

    with account_scope(cast.account):
        rows = list(Notification.objects.order_by("pk"))
    assert [row.title for row in rows] == [
        *(f"Audit log webhook: URL changed by {ACTOR.label}", f"Audit log webhook paused by {ACTOR.label}"),
        f"Audit log webhook deleted by {ACTOR.label}",
    ]
    assert all(row.admins_only for row in rows)
    assert "secretpath" not in str([row.text for row in rows])


def test_entries_of_another_account_are_not_sent(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver, start_at=clock.now() - timedelta(days=1))
    audit.record(account=cast.other_account, actor=ACTOR, action="test.act", target="theirs")

    send(cast, webhook)

    assert events(receiver)
    assert targets(receiver) == []
    assert sending.send(account=cast.other_account, webhook_id=webhook.pk) == 0


def test_old_deliveries_are_deleted_and_not_sent_again(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = create(cast, receiver)
    record(cast, "a")
    send(cast, webhook)
    with clock.frozen(timezone.now() + timedelta(days=91)):
        record(cast, "b")
        send(cast, webhook)
        removed = sending.sweep()
        again_sent = send(cast, due_webhook(cast))

    assert (removed, again_sent) == (1, 0)
    assert targets(receiver) == ["a", "b"]

"""Settings → Audit log → Webhook."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from standardwebhooks import Webhook

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.audit_webhooks import sending
from finops.audit_webhooks.models import AuditWebhook
from tests.cast import Cast, reauthenticated, signed_in
from tests.pages import text_of
from tests.receivers import Receiver

BASE = "/a/acme/settings/audit-log/webhook/"


@pytest.fixture
def admin(cast: Cast) -> Client:
    return reauthenticated(signed_in(cast.admin), cast.admin)


def secret_of(answer: Any) -> str:
    match = re.search(r"whsec_[\w+/=]+", answer.content.decode())
    return match[0] if match else ""


def test_an_admin_creates_rotates_pauses_and_deletes(cast: Cast, admin: Client, receiver: Receiver) -> None:
    first = secret_of(admin.post(f"{BASE}create/", {"url": receiver.url, "since": "2026-01-01"}))
    with account_scope(cast.account):
        webhook = AuditWebhook.objects.get()
    sending.send(account=cast.account, webhook_id=webhook.pk)
    page = admin.get(BASE).content.decode()
    second = secret_of(admin.post(f"{BASE}secret/"))
    paused = admin.post(f"{BASE}pause/", follow=True).content.decode()
    resumed = admin.post(f"{BASE}resume/", follow=True).content.decode()
    again = admin.post(f"{BASE}send-again/", {"since": "2026-01-02"}, follow=True).content.decode()
    moved = admin.post(f"{BASE}url/", {"url": f"{receiver.url}/2"}, follow=True).content.decode()
    admin.post(f"{BASE}delete/")

    assert first
    assert second not in ("", first)
    assert "Delivered" in page
    assert first not in page
    assert "secretpath" not in page
    assert ("Paused." in paused, "Resumed." in resumed) == (True, True)
    assert ("sent again" in again, "URL changed" in moved) == (True, True)
    with account_scope(cast.account):
        assert not AuditWebhook.objects.exists()
        entries = AuditEntry.objects.filter(action__startswith="audit_webhook")
        actions = [entry.action.partition(".")[2] for entry in entries.order_by("pk")]
        details = str([entry.detail for entry in entries])
    assert actions == ["create", "rotate_secret", "pause", "resume", "send_again", "change", "delete"]
    assert "whsec_" not in details
    assert "secretpath" not in details
    assert first.removeprefix("whsec_") not in webhook.target


def test_one_webhook_an_account(cast: Cast, admin: Client, receiver: Receiver) -> None:
    for _twice in range(2):
        answer = admin.post(f"{BASE}create/", {"url": receiver.url})

    assert answer.status_code == 422
    assert "has an audit log webhook already" in answer.content.decode()


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("create", {"url": ""}),
        ("create", {"url": "http://example.com/x"}),
        ("create", {"url": "https://192.168.0.1/x"}),
        ("create", {"url": "https://example.com/x", "since": "yesterday"}),
    ],
)
def test_an_error_is_shown_in_the_form(
    cast: Cast, admin: Client, settings: Any, action: str, form: dict[str, str]
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []

    assert admin.post(f"{BASE}{action}/", form).status_code == 422


def test_without_a_webhook_no_entry_is_sent(cast: Cast, admin: Client) -> None:
    for action in ("pause", "resume", "secret", "delete"):
        assert "no audit log webhook" in admin.post(f"{BASE}{action}/", follow=True).content.decode()


def test_members_have_no_such_page(cast: Cast) -> None:
    assert signed_in(cast.member).get(BASE).status_code in (403, 404)


def test_a_test_is_signed_has_no_entries_and_leaves_deliveries_alone(
    cast: Cast, admin: Client, receiver: Receiver
) -> None:
    secret = secret_of(admin.post(f"{BASE}create/", {"url": receiver.url}))
    admin.post(f"{BASE}pause/")
    arrived = text_of(admin.post(f"{BASE}test/", follow=True))
    (request,) = receiver.requests
    receiver.answer(500, "broken")
    failed = text_of(admin.post(f"{BASE}test/", follow=True))

    body = Webhook(secret).verify(request.body, request.headers)
    assert (body["type"], body["data"]["events"]) == ("audit_log.test", [])
    assert ("Test arrived" in arrived, "Test failed" in failed, "broken" in failed) == (True, True, True)
    with account_scope(cast.account):
        webhook = AuditWebhook.objects.get()
        assert (webhook.failures, webhook.deliveries.count()) == (0, 0)
        assert AuditEntry.objects.filter(action="audit_webhook.test", actor_user=cast.admin).count() == 2
    for _more in range(3):
        admin.post(f"{BASE}test/")
    assert "Wait a minute" in text_of(admin.post(f"{BASE}test/", follow=True))
    assert len(receiver.requests) == 5

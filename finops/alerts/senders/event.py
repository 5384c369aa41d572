"""Events to the callback of a subscription (SEP-3415), signed as Standard Webhooks says: one event a request, and the
challenge that a callback answers before it is sent any."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from django.conf import settings
from standardwebhooks import Webhook

from finops.alerts.channel_targets import WebhookTarget
from finops.alerts.senders.http import post_bytes
from finops.alerts.senders.outcome import DeliveryOutcome, Envelope
from finops.lib import clock
from finops.lib.errors import INVALID_JSON
from finops.lib.outbound import DeliveryTimeout, UrlRefusal, post
from finops.lib.sentences import escape_hidden

MAX_BYTES: Final = 256 * 1024
"""The maximum of bytes of a request that receivers accept."""

FORBIDDEN: Final = -32024
"""SEP-3415's code in the message that ends a subscription."""


class CallbackProblem(Exception):
    """The callback did not answer its challenge. `reason` is one of SEP-3415's and has no part of the answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The callback did not answer the verification request: {reason}.")
        self.reason = reason


def send(target: WebhookTarget, envelope: Envelope, *, event: str, public_id: str) -> DeliveryOutcome:
    if envelope.message.is_end and envelope.message.kind == "end":
        name, body = f"msg_terminated_{envelope.delivery_id}", _end(envelope)
    else:
        name = f"evt_{envelope.delivery_id}"
        body = _body({"eventId": name, **_occurrence(envelope, event)})
    return post_bytes(target.url, body, _headers(target, name, public_id, body), target)


def verify(target: WebhookTarget, *, public_id: str) -> None:
    """Verify a callback by a random challenge. Raises CallbackProblem if it is not returned, and UrlRefusal for an
    address that is not allowed. Up to 10 s."""
    nonce = secrets.token_urlsafe(32)
    body = msgspec.json.encode({"type": "verification", "challenge": nonce})
    headers = _headers(target, f"msg_verification_{secrets.token_hex(12)}", public_id, body)
    try:
        answer = post(target.url, body=body, headers=headers, seconds=settings.ALERT_SEND_SECONDS)
    except DeliveryTimeout as error:
        raise CallbackProblem(error.reason) from error
    except UrlRefusal:
        raise
    if answer.status >= 500:
        raise CallbackProblem("http_5xx")
    if answer.status >= 400:
        raise CallbackProblem("http_4xx")
    if not 200 <= answer.status < 300 or not _returns_nonce(answer.body, nonce):
        raise CallbackProblem("challenge_failed")


def _returns_nonce(body: bytes, nonce: str) -> bool:
    try:
        answer = msgspec.json.decode(body)
    except INVALID_JSON:
        return False
    challenge = answer.get("challenge") if isinstance(answer, dict) else None
    return isinstance(challenge, str) and hmac.compare_digest(
        challenge.encode(errors="replace"), nonce.encode()
    )


def _occurrence(envelope: Envelope, event: str) -> dict[str, Any]:
    message = envelope.message
    return {
        "name": event,
        "timestamp": envelope.created_at.isoformat(),
        "data": {
            "title": escape_hidden(message.title),
            "summary": escape_hidden(message.summary),
            "severity": message.severity,
            "console_url": message.url,
            "account": {"slug": envelope.account_slug, "name": escape_hidden(envelope.account_name)},
            "figures": message.data,
        },
        "cursor": None,
    }


def _body(occurrence: dict[str, Any]) -> bytes:
    """Return the body; without figures if it would exceed the limit, since title and summary say what happened."""
    body = msgspec.json.encode(occurrence)
    if len(body) > MAX_BYTES:
        body = msgspec.json.encode({**occurrence, "data": {**occurrence["data"], "figures": {}}})
    return body


def _end(envelope: Envelope) -> bytes:
    error = {"code": FORBIDDEN, "message": "Forbidden", "data": {"reason": envelope.message.summary}}
    return msgspec.json.encode({"type": "terminated", "error": error})


def _headers(target: WebhookTarget, name: str, public_id: str, body: bytes) -> Mapping[str, str]:
    now = clock.now()
    signatures = [Webhook(secret).sign(name, now, body.decode()) for secret in target.signing_secrets()]
    return {
        "Content-Type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
        "X-MCP-Subscription-Id": public_id,
    }

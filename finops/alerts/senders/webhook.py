"""A webhook signed according to Standard Webhooks. `webhook-id` identifies the delivery and is the same in all
attempts, so that a receiver can ignore duplicates."""

from __future__ import annotations

from typing import Any

import msgspec
from standardwebhooks import Webhook

from finops.alerts.body_templates import fill_template
from finops.alerts.channel_targets import WebhookTarget
from finops.alerts.senders.http import post_bytes
from finops.alerts.senders.outcome import DeliveryOutcome, Envelope
from finops.lib import clock


def send(target: WebhookTarget, envelope: Envelope) -> DeliveryOutcome:
    template, message = target.template, envelope.message
    value = fill_template(template, message, envelope.account_name) if template else payload(envelope)
    body = msgspec.json.encode(value).decode()
    now, name = clock.now(), f"msg_{envelope.delivery_id}"
    signatures = [Webhook(secret).sign(name, now, body) for secret in target.signing_secrets()]
    headers = {
        **target.headers,
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return post_bytes(target.url, body.encode(), headers, target, is_bot=True)


def payload(envelope: Envelope) -> dict[str, Any]:
    message = envelope.message
    return {
        "type": f"alert.{message.kind}",
        "timestamp": envelope.created_at.isoformat(),
        "data": {
            "account": {"slug": envelope.account_slug, "name": envelope.account_name},
            "title": message.title,
            "summary": message.summary,
            "severity": message.severity,
            "facts": [{"label": fact.label, "value": fact.value} for fact in message.facts],
            "console_url": message.url,
            "dedup_key": message.dedup_key,
            "figures": message.data,
        },
    }

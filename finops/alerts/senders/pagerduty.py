"""PagerDuty's Events API v2: a trigger, grouped with others of its dedup key into one incident, or its resolution."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings

from finops.alerts.channel_targets import PagerDutyTarget
from finops.alerts.senders.http import post_json
from finops.alerts.senders.outcome import DeliveryOutcome, Envelope, one_line
from finops.lib.sentences import truncate

_FACTS: Final = 100
_SUMMARY: Final = 1_024


def send(target: PagerDutyTarget, envelope: Envelope) -> DeliveryOutcome:
    return post_json(target.events_url, payload(target, envelope), target)


def payload(target: PagerDutyTarget, envelope: Envelope) -> dict[str, Any]:
    message = envelope.message
    facts = {truncate(fact.label, 200): truncate(fact.value, 1_000) for fact in message.facts[:_FACTS]}
    return {
        "routing_key": target.routing_key,
        "event_action": "resolve" if message.is_end else "trigger",
        "dedup_key": message.dedup_key,
        "client": "FinOps Console",
        "client_url": message.url,
        "links": [{"href": message.url, "text": "Open in the console"}],
        "payload": {
            "summary": truncate(one_line(message.title), _SUMMARY),
            "source": urlsplit(settings.PUBLIC_URL).netloc,
            "severity": message.severity,
            "timestamp": envelope.created_at.isoformat(),
            "component": truncate(envelope.account_name, 200),
            "class": message.kind,
            "custom_details": {"summary": truncate(message.summary, 4_000), **facts},
        },
    }

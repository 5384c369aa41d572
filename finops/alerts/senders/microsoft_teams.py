"""Microsoft Teams: an Adaptive Card for the Workflows app's webhook ("When a Teams webhook request is received").

Texts from users or bills are TextRuns, where Teams does not parse Markdown. Teams refuses messages of more than 28
KB.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from finops.alerts.channel_targets import UrlTarget
from finops.alerts.messages import Fact, Message
from finops.alerts.senders.http import post_json
from finops.alerts.senders.outcome import DeliveryOutcome, Envelope, one_line
from finops.lib.sentences import truncate

MAX_BYTES: Final = 25_000
_FACTS: Final = 40
_STYLES: Final = {"info": "accent", "warning": "warning", "critical": "attention"}


def send(target: UrlTarget, envelope: Envelope) -> DeliveryOutcome:
    """Send the message. Connectors of Office 365 return 200 with "Webhook message delivery failed with error: Microsoft
    Teams endpoint returned HTTP error 429 …"."""
    outcome = post_json(target.url, payload(envelope.message), target)
    if outcome.verdict != "delivered" or "delivery failed" not in outcome.answer.lower():
        return outcome
    is_temporary = re.search(r"HTTP error (?:429|5\d\d)", outcome.answer)
    return msgspec.structs.replace(outcome, verdict="again" if is_temporary else "failed")


def payload(message: Message) -> dict[str, Any]:
    """Return the card with as many facts as fit."""
    facts = list(message.facts[:_FACTS])
    card = _payload(message, facts)
    while len(msgspec.json.encode(card)) > MAX_BYTES and facts:
        facts.pop()
        card = _payload(message, facts)
    return card


def _payload(message: Message, facts: list[Fact]) -> dict[str, Any]:
    content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": truncate(one_line(message.title), 200),
        "msteams": {"width": "Full"},
        "body": _body(message, facts),
        "actions": [{"type": "Action.OpenUrl", "title": "Open in the console", "url": message.url}],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": content,
    }
    return {"type": "message", "attachments": [attachment]}


def _body(message: Message, facts: list[Fact]) -> list[dict[str, Any]]:
    title = _text(one_line(message.title), 300, weight="Bolder", size="Medium")
    body: list[dict[str, Any]] = [
        {"type": "Container", "style": _STYLES[message.severity], "bleed": True, "items": [title]}
    ]
    if message.summary.strip():
        body.append(_text(message.summary, 2_000))
    body += [_fact(fact) for fact in facts]
    omitted_count = len(message.facts) - len(facts)
    if omitted_count:
        body.append(_text(f"{omitted_count} more figures in the console.", 100, isSubtle=True))
    return body


def _fact(fact: Fact) -> dict[str, Any]:
    columns = [
        {"type": "Column", "width": 1, "items": [_text(fact.label, 150, weight="Bolder")]},
        {"type": "Column", "width": 2, "items": [_text(fact.value, 300)]},
    ]
    return {"type": "ColumnSet", "spacing": "Small", "columns": columns}


_BEFORE_BRACE: Final = re.compile(r"\{(?=\{)")


def _text(text: str, limit: int, **style: Any) -> dict[str, Any]:
    # "{{" starts a date function of Adaptive Cards.
    plain = _BEFORE_BRACE.sub("{\u200b", truncate(text, limit))
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": plain or "-", **style}]}

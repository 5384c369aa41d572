"""Slack's incoming webhooks and compatible ones (Mattermost, Rocket.Chat): Block Kit, with the whole message in
`text` for clients without blocks.

Texts from users or bills are plain text, so that no character is markup; & < > are escaped as entities. Limits of
Slack: a header 150 characters, a text 3,000, a field 2,000, ten fields a section, 50 blocks.
"""

from __future__ import annotations

import re
from typing import Any, Final

from finops.alerts.channel_targets import UrlTarget
from finops.alerts.messages import Message
from finops.alerts.senders.http import post_json
from finops.alerts.senders.outcome import DeliveryOutcome, Envelope, one_line

MARKS: Final = {"info": "🔵", "warning": "🟠", "critical": "🔴"}
_FACTS_IN_SECTION: Final = 5
_FACTS: Final = 200
_HEADER, _TEXT, _FIELD = 150, 3_000, 2_000


def send(target: UrlTarget, envelope: Envelope) -> DeliveryOutcome:
    return post_json(target.url, payload(envelope.message), target, is_bot=True)


def payload(message: Message) -> dict[str, Any]:
    return {"text": _text(message), "blocks": _blocks(message)}


def escape_text(text: str, limit: int) -> str:
    """Escape & < > as entities and truncate to the limit, never within an entity."""
    parts = [_ENTITIES.get(each, each) for each in text[: limit + 1]]
    if len(text) <= limit and sum(map(len, parts)) <= limit:
        return "".join(parts)
    length, fitting = 1, []
    for part in parts:
        length += len(part)
        if length > limit:
            break
        fitting.append(part)
    return "".join(fitting) + "…"


_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _blocks(message: Message) -> list[dict[str, Any]]:
    title = f"{MARKS[message.severity]} {one_line(message.title)}"
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title, _HEADER)}]
    if message.summary.strip():
        blocks.append({"type": "section", "text": _plain(message.summary, _TEXT)})
    facts = message.facts[:_FACTS]
    for start in range(0, len(facts), _FACTS_IN_SECTION):
        some = facts[start : start + _FACTS_IN_SECTION]
        fields = [_plain(text, _FIELD) for fact in some for text in (fact.label, fact.value)]
        blocks.append({"type": "section", "fields": fields})
    omitted_count = len(message.facts) - len(facts)
    more = f" · {omitted_count} more figures in the console" if omitted_count else ""
    link = {"type": "mrkdwn", "text": f"<{_url(message.url)}|Open in the console>{more}"}
    return [*blocks, {"type": "context", "elements": [link]}]


def _plain(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": escape_text(text, limit) if text.strip() else "-", "emoji": False}


def _text(message: Message) -> str:
    lines = [f"{MARKS[message.severity]} {one_line(message.title)}", message.summary]
    lines += [f"{one_line(fact.label)}: {one_line(fact.value)}" for fact in message.facts]
    link = f"<{_url(message.url)}|Open in the console>"
    text = _CALLS.sub("@\u200b", "\n".join(line for line in lines if line.strip()))
    return f"{escape_text(text, _TEXT - len(link) - 1)}\n{link}"


# Mattermost and Rocket.Chat notify everybody for these; Slack needs <!channel>, which is escaped.
_CALLS = re.compile(r"@(?=(?:all|channel|everyone|here)\b)", re.IGNORECASE)


def _url(url: str) -> str:
    """Escape a URL: `<`, `>` and `|` would end a link; & is an entity there too."""
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")

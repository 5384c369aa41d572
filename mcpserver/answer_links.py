"""Links to the CSV with all rows of a truncated answer (`resource_link`, ADR 0004).

The link contains the question, signed for one credential: nothing is stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from django.core import signing

from finops.lib import clock
from finops.lib.redaction import without_secrets
from mcpserver.context import ToolCall
from mcpserver.resources.resource import CSV, MAX_URI

PREFIX: Final = "finops://answers/"
SECONDS: Final = 24 * 3600
"""How long a link is valid."""

_SUFFIX: Final = ".csv"
_SALT: Final = "mcpserver.answer_links"


class ExpiredLink(Exception):
    """A link of this server that is older than SECONDS."""


@dataclasses.dataclass(frozen=True)
class AnswerLink:
    """A question to a tool, and the time it was asked: relative periods count from that time."""

    tool: str
    arguments: Mapping[str, Any]
    at: datetime


def link_uri(link: AnswerLink, call: ToolCall) -> str:
    """Return the URI for the call's credential; empty if it would be too long or contain a secret."""
    encoded = msgspec.json.encode(link.arguments).decode()
    if without_secrets(encoded) != encoded:
        return ""
    content = [call.credential.kind, call.credential.id, link.tool, link.arguments, link.at.isoformat()]
    uri = f"{PREFIX}{signing.dumps(content, salt=_SALT, compress=True)}{_SUFFIX}"
    return uri if len(uri) <= MAX_URI else ""


def parse(uri: str, call: ToolCall) -> AnswerLink | None:
    """Return the question of a link; None for a text that is no link of the call's credential. Raises ExpiredLink."""
    if not uri.endswith(_SUFFIX):
        return None
    token = uri.removeprefix(PREFIX).removesuffix(_SUFFIX)
    try:
        kind, credential, tool, arguments, at = signing.loads(token, salt=_SALT, max_age=SECONDS)
    except signing.SignatureExpired as expired:
        raise ExpiredLink from expired
    except signing.BadSignature:
        return None
    if (kind, credential) != (call.credential.kind, call.credential.id):
        return None
    return AnswerLink(tool, arguments, datetime.fromisoformat(at))


def link_of(tool: str, arguments: Mapping[str, Any], call: ToolCall) -> str:
    """Return the URI of the question, asked at the current time."""
    return link_uri(AnswerLink(tool, arguments, clock.now()), call)


def content(uri: str, tool: str) -> list[dict[str, Any]]:
    """Return the content items of a result: an empty list without a URI."""
    if not uri:
        return []
    link = {
        "type": "resource_link",
        "uri": uri,
        "name": f"{tool}{_SUFFIX}",
        "title": "All rows as CSV",
        "description": "Every row of this question, exact, computed when it is read. Valid for 24 hours, for this credential.",
        "mimeType": CSV,
    }
    return [link]

"""Asking the person before a tool destroys something, where the client can (`elicitation`, in the era of 2026-07-28 alone).

The tool is called twice: the first answer is a question and a signed state; the client asks the person and calls again with
the reply. Nothing is kept here in between (ADR 0079). A client that cannot ask calls once, as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec
from django.core import signing

from finops.lib.errors import UserError
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction
from mcpserver.registry import Tool
from mcpserver.results import ToolOutcome

SECONDS: Final = 600
"""How long a person may think: a reply later than that is asked for anew."""

_SALT: Final = "mcpserver.elicitation"
_KEY: Final = "confirm"

DECLINED: Final = "The person declined. Nothing was changed. Do not call again unless the person asks for it."


def can_ask(capabilities: Mapping[str, Any]) -> bool:
    """Whether the client shows forms. An empty object means forms, as it did before there were URLs."""
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def question_of(tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> str:
    """What to ask before the tool runs; empty for nothing, and where the call will be refused anyhow."""
    if tool.question is None:
        return ""
    try:
        decoded = decode_arguments(tool.arguments, arguments, tool=tool.name)
        with call_transaction(call, read_only=True):
            return tool.question(call, decoded)
    except UserError:
        return ""


def ask(question: str, tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """The result that makes the client ask the person and call again."""
    form = {
        "type": "object",
        "properties": {_KEY: {"type": "boolean", "title": tool.title, "default": False}},
        "required": [_KEY],
    }
    request = {"mode": "form", "message": question, "requestedSchema": form}
    return {
        "resultType": "input_required",
        "inputRequests": {_KEY: {"method": "elicitation/create", "params": request}},
        "requestState": signing.dumps(_digest(question, tool, arguments, call), salt=_SALT),
    }


def reply(params: Mapping[str, Any], question: str, tool: Tool, call: ToolCall) -> bool | None:
    """Whether the person agreed to this very question, about these arguments; None where she was not asked it, or too
    long ago."""
    try:
        asked = signing.loads(str(params.get("requestState", "")), salt=_SALT, max_age=SECONDS)
    except signing.BadSignature:
        return None
    responses = params.get("inputResponses")
    response = responses.get(_KEY) if isinstance(responses, dict) else None
    arguments = params.get("arguments") or {}
    if asked != _digest(question, tool, arguments, call) or not isinstance(response, dict):
        return None
    content = response.get("content")
    return response.get("action") == "accept" and isinstance(content, dict) and content.get(_KEY) is True


def refusal() -> ToolOutcome:
    return ToolOutcome(problem=DECLINED)


def _digest(question: str, tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> str:
    """Of who is asked what: an answer to another question, of another credential, is none."""
    about = [call.credential.kind, call.credential.id, tool.name, question, arguments]
    return sha256(msgspec.json.encode(about, order="deterministic")).hexdigest()

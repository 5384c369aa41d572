"""Elicitation: ask the person before a tool destroys something, and which of several similar names or filter values is
meant, if the client supports it (only in the revision 2026-07-28).

The tool is called twice. The first result is a question with a signed state; the client asks the person and calls
again with the reply. No state is kept on the server (ADR 0079). A client without elicitation calls once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec
from django.core import signing

from finops.lib.errors import UserError
from finops.lib.name_choices import FEWEST, NameChoice
from finops.lib.sentences import escape_hidden, quote
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction
from mcpserver.registry import Tool
from mcpserver.results import ToolOutcome

SECONDS: Final = 600
"""How long a reply is accepted; after that, the question is asked again."""

_SALT: Final = "mcpserver.elicitation"
_KEY: Final = "confirm"

_CHOICE_SALT: Final = "mcpserver.elicitation.choice"
_CHOICE: Final = "choice"
NO_NAME: Final = "None of these"
"""The option of a call that has an answer without a choice too."""

NO_CHOICE: Final = "The person chose none of these names. Nothing was done. Ask which one is meant."
DECLINED: Final = "The person declined. Nothing was changed. Do not call again unless the person asks for it."


def can_ask(capabilities: Mapping[str, Any]) -> bool:
    """Whether the client supports forms. An empty capability means forms, as it did before URL mode existed."""
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def question_of(tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> str:
    """The question to ask before the tool runs; empty if there is none, or if the call will be refused in any case."""
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
    """Whether the person agreed to exactly this question about these arguments; None if it was not asked, or too long
    ago."""
    try:
        state = signing.loads(str(params.get("requestState", "")), salt=_SALT, max_age=SECONDS)
    except signing.BadSignature:
        return None
    responses = params.get("inputResponses")
    response = responses.get(_KEY) if isinstance(responses, dict) else None
    arguments = params.get("arguments") or {}
    if state != _digest(question, tool, arguments, call) or not isinstance(response, dict):
        return None
    content = response.get("content")
    return response.get("action") == "accept" and isinstance(content, dict) and content.get(_KEY) is True


def refusal() -> ToolOutcome:
    return ToolOutcome(problem=DECLINED)


def first_choice(outcome: ToolOutcome, offered: Sequence[NameChoice], arguments: Any) -> NameChoice | None:
    """What the person is asked: about the name that the tool refused, or about the first value of a filter that the
    data of an answer does not have. None for another problem, and if several arguments could have the name."""
    problem = f"{quote(outcome.value)} does not exist"
    refused = NameChoice(outcome.field, problem, outcome.value, outcome.choices)
    choices = [refused] if outcome.is_error else offered
    return next(
        (each for each in choices if len(each.names) >= FEWEST and _occurrences(arguments, each.value) == 1),
        None,
    )


def ask_choice(
    choice: NameChoice, params: Mapping[str, Any], call: ToolCall, *, has_answer: bool
) -> dict[str, Any]:
    """The result that makes the client ask which of several similar names is meant. `has_answer`: the call has an
    answer without a choice too, which the person can choose."""
    names = [escape_hidden(each) for each in choice.names]
    options = [*names, NO_NAME] if has_answer else names
    form = {
        "type": "object",
        "properties": {_CHOICE: {"type": "string", "title": choice.field, "enum": options}},
        "required": [_CHOICE],
    }
    message = f"{choice.field}: {choice.problem}. Which one do you mean?"
    request = {"mode": "form", "message": message, "requestedSchema": form}
    state = {
        "about": _about(params, call),
        "value": choice.value,
        "choices": choice.names,
        "has_answer": has_answer,
    }
    return {
        "resultType": "input_required",
        "inputRequests": {_CHOICE: {"method": "elicitation/create", "params": request}},
        "requestState": signing.dumps(state, salt=_CHOICE_SALT),
    }


def with_choice(params: Mapping[str, Any], call: ToolCall) -> Mapping[str, Any] | None:
    """The parameters with the chosen name in place of the unknown one. The same object if the person was not asked
    about exactly this call; a copy if she chose none and the call has an answer in any case, otherwise None."""
    responses = params.get("inputResponses")
    response = responses.get(_CHOICE) if isinstance(responses, dict) else None
    try:
        state = signing.loads(str(params.get("requestState", "")), salt=_CHOICE_SALT, max_age=SECONDS)
    except signing.BadSignature:
        return params
    if not isinstance(response, dict) or state["about"] != _about(params, call):
        return params
    content = response.get("content")
    name = content.get(_CHOICE) if isinstance(content, dict) else None
    choice = next((each for each in state["choices"] if escape_hidden(each) == name), None)
    if response.get("action") != "accept" or choice is None:
        return dict(params) if state.get("has_answer") else None
    return {**params, "arguments": _replace_text(params.get("arguments"), state["value"], choice)}


def _about(params: Mapping[str, Any], call: ToolCall) -> str:
    about = [call.credential.kind, call.credential.id, params.get("name"), params.get("arguments")]
    return sha256(msgspec.json.encode(about, order="deterministic")).hexdigest()


def _occurrences(value: Any, text: str) -> int:
    """How often a text occurs among the values of arguments."""
    if isinstance(value, dict):
        return sum(_occurrences(each, text) for each in value.values())
    if isinstance(value, list):
        return sum(_occurrences(each, text) for each in value)
    return int(isinstance(value, str) and value == text)


def _replace_text(value: Any, text: str, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _replace_text(each, text, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_replace_text(each, text, name) for each in value]
    return name if value == text else value


def _digest(question: str, tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> str:
    """A digest of question and credential: a reply to another question, or of another credential, is not accepted."""
    about = [call.credential.kind, call.credential.id, tool.name, question, arguments]
    return sha256(msgspec.json.encode(about, order="deterministic")).hexdigest()

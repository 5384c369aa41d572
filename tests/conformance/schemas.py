"""Checks what the endpoint sends against the official JSON Schema of its revision (tests/data/mcp-schemas)."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator

FOLDER = Path(__file__).parent.parent / "data" / "mcp-schemas"
REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26")
MODERN, LEGACY = REVISIONS[0], REVISIONS[1:]

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "events/list": "PaginatedResult",
    "events/subscribe": "Result",
    "events/unsubscribe": "Result",
    "skills/list": "PaginatedResult",
    "skills/get": "Result",
    "completion/complete": "CompleteResult",
}
ERRORS = {-32020: "HeaderMismatchError", -32022: "UnsupportedProtocolVersionError"}


@functools.cache
def validator(revision: str, definition: str) -> Validator:
    schema = json.loads((FOLDER / f"{revision}.json").read_text())
    if "$defs" in schema:
        return Draft202012Validator({**schema, "$ref": f"#/$defs/{definition}"})
    return Draft7Validator({"$ref": f"#/definitions/{definition}", "definitions": schema["definitions"]})


def check(revision: str, definition: str, value: Any) -> None:
    validator(revision, definition).validate(value)


def check_answer(revision: str, method: str, message: Mapping[str, Any]) -> None:
    """One JSON-RPC answer to a request of `method`: its envelope, and its result or error."""
    if "error" in message:
        check_error(revision, message)
        return
    envelope = "JSONRPCResponse" if revision in LEGACY[1:] else "JSONRPCResultResponse"
    check(revision, envelope, message)
    asks = message["result"].get("resultType") == "input_required"
    check(revision, "InputRequiredResult" if asks else RESULTS[method], message["result"])


def check_error(revision: str, message: Mapping[str, Any]) -> None:
    if revision in LEGACY[1:]:
        codes = {
            "id": 0,
            **message,
        }  # before 2025-11-25 no schema has an error without id; we never invent one
        check(revision, "JSONRPCError", codes)
        return
    check(revision, "JSONRPCErrorResponse", message)
    special = ERRORS.get(message["error"]["code"])
    if special and revision == MODERN:
        check(revision, special, message)

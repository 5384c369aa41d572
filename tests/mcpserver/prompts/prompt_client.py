"""Reads a prompt's text as an assistant does: the calls that it names, in order."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.mcpserver.mcp_client import McpClient

_CALL = re.compile(r"^\d+\. `(\w+)` `(\{.*\})`$", re.MULTILINE)
_WORD = re.compile(r"`([^`\n]+)`")

PROMPT_ARGUMENTS = {
    "anomaly_check": ["month", "cost_source", "minimum_impact", "currency"],
    "budget_health": ["budget", "scope"],
    "commitment_review": ["month", "provider"],
    "savings_review": ["rule", "minimum_saving", "currency"],
    "top_cost_drivers": ["month", "group_by", "filter_by", "value", "basis"],
    "weekly_cost_digest": ["week", "team", "cost_source", "group_by", "basis"],
}

Call = tuple[str, dict[str, Any]]


def text_of(mcp_client: McpClient, prompt: str, /, **arguments: str) -> str:
    result = mcp_client.result("prompts/get", {"name": prompt, "arguments": arguments})
    (message,) = result["messages"]
    assert message["role"] == "user"
    text: str = message["content"]["text"]
    return text


def calls_in(text: str) -> list[Call]:
    return [(name, json.loads(arguments)) for name, arguments in _CALL.findall(text)]


def words_in(text: str) -> set[str]:
    """What stands in code quotes outside the numbered calls: names of tools, arguments, fields and values."""
    return set(_WORD.findall(_CALL.sub("", text)))


def completion(
    mcp_client: McpClient, prompt: str, argument: str, typed: str = "", **arguments: str
) -> dict[str, Any]:
    params = {
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": argument, "value": typed},
        "context": {"arguments": arguments},
    }
    result: dict[str, Any] = mcp_client.result("completion/complete", params)["completion"]
    return result


def values(mcp_client: McpClient, prompt: str, argument: str, typed: str = "", **arguments: str) -> list[str]:
    result: list[str] = completion(mcp_client, prompt, argument, typed, **arguments)["values"]
    return result


def refusal(mcp_client: McpClient, prompt: str, **arguments: str) -> str:
    error = mcp_client.error("prompts/get", {"name": prompt, "arguments": arguments})
    assert error["code"] == -32602
    message: str = error["message"]
    return message

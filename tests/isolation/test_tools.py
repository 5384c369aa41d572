"""Every tool, called by a stranger's credential and by a read key. A new tool joins by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from accounts.keys import mint_mcp_key
from mcpserver.registry import Tool, ToolAccess, registry
from tests.cast import Cast
from tests.isolation.discovery import fingerprint
from tests.isolation.marks import MARK, fill_with_marks

TOOLS = list(registry)
READ_TOOLS = [tool for tool in TOOLS if tool.access is ToolAccess.READ]
each_tool = pytest.mark.parametrize("tool", READ_TOOLS, ids=lambda tool: tool.name)


def call(key: str, tool: Tool, arguments: dict[str, Any]) -> str:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool.name, "arguments": arguments},
    }
    answer = Client().post(
        "/api/mcp",
        json.dumps(message),
        content_type="application/json",
        headers={"authorization": f"Bearer {key}"},
    )
    assert answer.status_code == 200
    return answer.content.decode()


def probes(tool: Tool) -> list[dict[str, Any]]:
    """The tool's own examples, and each with every text argument asking for what belongs to the other account."""
    texts = [
        name for name, schema in tool.input_schema["properties"].items() if schema.get("type") == "string"
    ]
    return [dict(example) for example in tool.examples] + [
        {**example, name: MARK[:5]} for example in tool.examples for name in texts
    ]


def call_rest(key: str, tool: Tool, arguments: dict[str, Any]) -> tuple[int, str]:
    answer = Client().post(
        f"/api/v1/tools/{tool.name}",
        json.dumps(arguments),
        content_type="application/json",
        headers={"authorization": f"Bearer {key}"},
    )
    return answer.status_code, answer.content.decode()


@pytest.fixture
def stranger_key(cast: Cast) -> str:
    _key, plaintext = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="stranger")
    return plaintext


def test_there_are_tools_to_walk() -> None:
    assert {tool.name for tool in READ_TOOLS} >= {"getAccountContext", "querySpend", "listDimensionValues"}


@each_tool
def test_a_strangers_credential_sees_nothing_of_the_account(
    cast: Cast, stranger_key: str, tool: Tool
) -> None:
    fill_with_marks(cast.account)

    all_text = "\n".join(call(stranger_key, tool, arguments) for arguments in probes(tool))

    assert MARK not in all_text
    assert cast.account.slug not in all_text


@each_tool
def test_a_strangers_credential_sees_nothing_over_rest(cast: Cast, stranger_key: str, tool: Tool) -> None:
    fill_with_marks(cast.account)

    answers = [call_rest(stranger_key, tool, arguments) for arguments in probes(tool)]

    assert {status for status, _text in answers} <= {200, 422}
    all_text = "\n".join(text for _status, text in answers)
    assert MARK not in all_text
    assert cast.account.slug not in all_text


def test_a_read_key_writes_nothing_over_rest(cast: Cast, settings: Any) -> None:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 10_000
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="reads")
    before = fingerprint(without=frozenset({"accounts_mcpkey"}))

    for tool in TOOLS:
        for arguments in probes(tool) or [{}]:
            status, _text = call_rest(plaintext, tool, arguments)
            assert status in ({200, 422} if tool.access is ToolAccess.READ else {403})

    assert fingerprint(without=frozenset({"accounts_mcpkey"})) == before


def test_a_read_key_writes_nothing(cast: Cast) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="reads")
    before = fingerprint(without=frozenset({"accounts_mcpkey"}))

    for tool in TOOLS:
        for arguments in probes(tool) or [{}]:
            is_refused = '"isError":true' in call(plaintext, tool, arguments).replace(" ", "")
            assert is_refused or tool.access is ToolAccess.READ

    assert fingerprint(without=frozenset({"accounts_mcpkey"})) == before


def test_the_marks_do_show_to_their_own_account(cast: Cast) -> None:
    fill_with_marks(cast.account)
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="own")
    spend = registry.get("querySpend")
    assert spend is not None

    assert MARK in call(plaintext, spend, {"period": "last_30_days", "group_by": ["service"]})

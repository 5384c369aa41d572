"""What hosts add to the arguments of a model (docs/connect-an-assistant.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings

from finops.dashboards.models import Dashboard
from mcpserver.coerce import HOST_ARGUMENTS
from mcpserver.registry import Tool, registry
from tests.cast import Cast
from tests.conformance.requirements import requirement
from tests.finops.activity.call_helpers import stored_calls
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.rest.rest_client import RestClient

ADDED: dict[str, Any] = {
    "_meta": {"trace": 1},
    "action": "sendMessage",
    "chatInput": "What did we spend?",
    "random_string": "x",
    "security_context": {"agent_fingerprint": {"uuid_str": "1"}},
    "sessionId": "4f1c",
    "toolCallId": "call_0BCIShth4lxZuYr4coSp4E5E",
    "wait_for_previous": True,
}


each_read_tool = pytest.mark.parametrize(
    "tool", registry.callable_by(may_write=False), ids=lambda tool: tool.name
)


@pytest.fixture
def cast(account_with_marks: Cast, db: None) -> Cast:
    return account_with_marks


def test_the_list_is_documented_and_no_tool_has_such_an_argument() -> None:
    assert ADDED.keys() == HOST_ARGUMENTS
    for tool in registry:
        assert not HOST_ARGUMENTS & set(tool.input_schema["properties"])
    text = (settings.BASE_DIR / "docs" / "connect-an-assistant.md").read_text()
    assert all(f"`{name}`" in text for name in HOST_ARGUMENTS)


@requirement("tools:kindness")
@each_read_tool
def test_an_answer_is_the_same_with_what_a_host_adds_or_leaves_empty(
    mcp_client: McpClient, tool: Tool
) -> None:
    example = dict(tool.examples[-1])
    left_out = [name for name in tool.input_schema["properties"] if name not in example]
    answer = _figures(mcp_client.ask(tool.name, **example))

    assert _figures(mcp_client.ask(tool.name, **example, **ADDED)) == answer
    for empty in ("", "null"):
        arguments = {**example, **dict.fromkeys(left_out, empty)}
        assert _figures(mcp_client.ask(tool.name, **arguments)) == answer


@requirement("tools:kindness")
@each_read_tool
def test_an_answer_is_the_same_with_0_for_each_optional_count(mcp_client: McpClient, tool: Tool) -> None:
    example = dict(tool.examples[-1])
    required = tool.input_schema.get("required", [])
    counts = [
        name
        for name, schema in tool.input_schema["properties"].items()
        if schema.get("minimum") == 1 and schema["type"] == "integer" and name not in {*required, *example}
    ]
    answer = _figures(mcp_client.ask(tool.name, **example))

    assert _figures(mcp_client.ask(tool.name, **example, **dict.fromkeys(counts, 0))) == answer


def _figures(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "receipt"}


@requirement("tools:kindness")
def test_a_write_is_the_same_with_what_a_host_adds_and_its_objects_as_text(
    cast: Cast, writer: McpClient
) -> None:
    widget = {
        "type": "text",
        "title": "",
        "config": json.dumps({"text": "Hello"}),
        "position": json.dumps({"x": 6, "y": 2, "w": 3, "h": "null"}),
    }

    board = writer.ask("create_dashboard", name="Of a host", widgets=json.dumps([widget]), **ADDED)

    (placed,) = board["dashboard"]["widgets"]
    assert (placed["config"], placed["position"]["x"], placed["position"]["y"]) == ({"text": "Hello"}, 6, 2)
    assert Dashboard.objects.unscoped().filter(account=cast.account, name="Of a host").exists()


@requirement("tools:kindness")
def test_an_empty_list_is_the_empty_object_of_a_client_in_php(
    mcp_client: McpClient, writer: McpClient
) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}'
    assert json.loads(mcp_client.http(body).content)["result"]["tools"]
    answer = mcp_client.result("tools/call", {"name": "listBudgets", "arguments": []})
    assert not answer["isError"]
    widgets = [{"type": "total", "config": []}]
    board = writer.ask("create_dashboard", name="Of PHP", widgets=widgets)
    assert len(board["dashboard"]["widgets"]) == 1
    for arguments in ([1], "x"):
        assert (
            mcp_client.error("tools/call", {"name": "listBudgets", "arguments": arguments})["code"] == -32602
        )


@requirement("tools:unknown-argument")
def test_other_unknown_arguments_are_refused_as_well_as_those_of_hosts_inside_of_objects(
    mcp_client: McpClient,
) -> None:
    assert mcp_client.problem("querySpend", **ADDED, session="4f1c").startswith(
        'querySpend has no argument "session".'
    )
    filters = [{"dimension": "service", "values": ["EC2"], "sessionId": "4f1c"}]
    assert mcp_client.problem("querySpend", filters=filters).startswith(
        'filters[0] has no field "sessionId".'
    )


def test_the_rest_api_and_widgets_have_no_hosts(cast: Cast, writer: McpClient) -> None:
    assert RestClient(mint(cast)).call("querySpend", {"sessionId": "4f1c"}).status_code == 422
    problem = writer.problem(
        "create_dashboard", name="None", widgets=[{"type": "total", "config": {"action": "x"}}]
    )
    assert 'has no argument "action"' in problem


def test_what_a_host_added_is_not_recorded(cast: Cast, mcp_client: McpClient) -> None:
    mcp_client.ask("querySpend", period="last_month", **ADDED)

    assert json.loads(stored_calls(cast.account)[0].arguments) == {"period": "last_month"}

"""The record of each call at the MCP endpoint."""

from __future__ import annotations

import json

import pytest

from finops.activity.models import CallMethod, CallOutcome
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast
from tests.finops.activity.call_helpers import stored_calls
from tests.mcpserver.mcp_client import McpClient, mint, toy_server
from tests.mcpserver.toys import make_toys


@pytest.fixture
def toys(cast: Cast) -> McpClient:
    return McpClient(mint(cast), toy_server(make_toys(prompts=True)))


def test_a_call_is_recorded_with_arguments_credential_time_and_size(cast: Cast, toys: McpClient) -> None:
    answer = toys.call("echo", top=3, group_by=["service"])

    (call,) = stored_calls(cast.account)
    assert (call.method, call.name, call.outcome, call.problem) == (
        CallMethod.TOOL,
        "echo",
        CallOutcome.OK,
        "",
    )
    assert json.loads(call.arguments) == {"top": 3, "group_by": ["service"]}
    assert call.credential_kind == "mcp_key"
    assert call.credential_label.startswith("tests read (fmcp_")
    assert call.person_id is None
    assert 0 < call.milliseconds < 60_000
    assert call.answer_bytes == len(answer["content"][0]["text"].encode())
    assert call.console_page == "explorer/?group_by=service"


def test_a_refused_call_is_recorded_with_its_error(cast: Cast, toys: McpClient) -> None:
    problem = toys.problem("picky")

    (call,) = stored_calls(cast.account)
    assert (call.outcome, call.problem) == (CallOutcome.ERROR, problem)
    assert call.answer_bytes == len(problem.encode())
    assert call.console_page == ""


def test_a_fault_of_ours_is_recorded_by_the_incident_that_the_log_has(cast: Cast, toys: McpClient) -> None:
    problem = toys.problem("broken")

    (call,) = stored_calls(cast.account)
    assert (call.outcome, call.problem) == (CallOutcome.INCIDENT, problem)
    assert "incident" in call.problem


def test_a_write_with_a_read_key_is_recorded_as_refused(cast: Cast, toys: McpClient) -> None:
    toys.problem("rename", name="Mine")

    (call,) = stored_calls(cast.account)
    assert (call.name, call.outcome) == ("rename", CallOutcome.REFUSED)


def test_a_write_with_a_read_only_connection_is_recorded_as_refused_and_names_its_person(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member, "acme", "read")
    toys = McpClient(tokens.access, toy_server(make_toys()))

    toys.http(
        json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rename", "arguments": {}}}
        ).encode()
    )

    (call,) = stored_calls(cast.account)
    assert (call.name, call.outcome, call.problem) == (
        "rename",
        CallOutcome.REFUSED,
        "rename needs read/write access.",
    )
    assert (call.credential_kind, call.person_id) == ("oauth", cast.member.pk)
    assert cast.member.email in call.credential_label


@pytest.mark.parametrize(
    ("params", "name", "arguments"),
    [
        ({"name": "querySpent", "arguments": {"a": 1}}, "querySpent", '{"a":1}'),
        ({"name": "echo", "arguments": [1, 2]}, "echo", "[1,2]"),
        ({"name": 7}, "", "{}"),
        ({"name": "n" * 5_000}, "n" * 64, "{}"),
    ],
    ids=["unknown tool", "arguments are no object", "no name", "a name without end"],
)
def test_a_call_that_cannot_be_made_is_recorded_as_refused(
    cast: Cast, toys: McpClient, params: dict[str, object], name: str, arguments: str
) -> None:
    toys.http(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(),
        {"mcp-protocol-version": "2025-11-25"},
    )

    (call,) = stored_calls(cast.account)
    assert (call.name, call.arguments, call.outcome) == (name, arguments, CallOutcome.REFUSED)
    assert call.problem


def test_a_prompt_is_recorded_too(cast: Cast, toys: McpClient) -> None:
    text = toys.result("prompts/get", {"name": "weekly", "arguments": {"team": "Core"}})

    (call,) = stored_calls(cast.account)
    assert (call.method, call.name, call.arguments) == (CallMethod.PROMPT, "weekly", '{"team":"Core"}')
    assert call.answer_bytes == len(text["messages"][0]["content"]["text"])


def test_other_requests_than_calls_are_not_recorded(cast: Cast, toys: McpClient) -> None:
    toys.result("tools/list")
    toys.request("ping", revision="2025-11-25")
    McpClient(None, toys.send).http(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'
    )

    assert stored_calls(cast.account) == []


def test_each_call_of_a_batch_is_recorded(cast: Cast, toys: McpClient) -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}

    toys.http(json.dumps([ask, {**ask, "id": 2}, {**ask, "id": 3}]).encode())

    assert [call.name for call in stored_calls(cast.account)] == ["echo"] * 3

"""Results of the methods, in every revision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcpserver.method_context import Server
from tests.cast import Cast
from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import McpClient, mint, toy_server
from tests.mcpserver.toys import make_toys

each_revision = pytest.mark.parametrize("revision", schemas.REVISIONS)


@requirement("tools:order")
@each_revision
def test_tools_are_listed_in_the_same_order_every_time(mcp_client: McpClient, revision: str) -> None:
    first, second = (mcp_client.result("tools/list", revision=revision)["tools"] for _ in range(2))

    assert first == second
    names = [tool["name"] for tool in first]
    assert names == sorted(names)


@requirement("tools:by-credential")
@each_revision
def test_a_read_key_is_shown_read_tools_and_a_write_key_all(cast: Cast, revision: str) -> None:
    shown = {
        scope: {
            tool["name"]
            for tool in McpClient(mint(cast, scope), toy_server(make_toys())).result(
                "tools/list", revision=revision
            )["tools"]
        }
        for scope in ("read", "read_write")
    }

    assert shown["read_write"] - shown["read"] == {"rename"}


@requirement("tools:schemas", "tools:annotations")
@each_revision
def test_tools_are_described_so_that_every_client_can_read_them(mcp_client: McpClient, revision: str) -> None:
    for tool in mcp_client.result("tools/list", revision=revision)["tools"]:
        Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"
        assert "$ref" not in json.dumps(tool)
        hints = {"readOnlyHint", "destructiveHint", "openWorldHint"}
        if not tool["annotations"]["readOnlyHint"]:
            hints.add("idempotentHint")  # means nothing for a tool that only reads
        assert set(tool["annotations"]) - {"title"} == hints
        assert [tool.get("title"), tool["annotations"].get("title")].count(None) == 1


@requirement("methods:one-page")
@each_revision
@pytest.mark.parametrize(
    "method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
)
def test_a_cursor_that_was_never_given_out_is_refused(
    mcp_client: McpClient, revision: str, method: str
) -> None:
    assert mcp_client.error(method, {"cursor": "2"}, revision=revision)["code"] == -32602
    assert "nextCursor" not in mcp_client.result(method, {"cursor": ""}, revision=revision)


@requirement("tools:unknown")
@each_revision
@pytest.mark.parametrize(
    ("params", "expected_message"),
    [
        ({"name": "ecco"}, "Unknown tool: ecco. Nearest: echo"),
        ({"name": "zzz"}, "Unknown tool: zzz. tools/list has them all."),
        ({}, "params.name"),
        ({"name": "echo", "arguments": [1]}, "params.arguments"),
        ({"name": "echo", "arguments": "{}"}, "params.arguments"),
    ],
)
def test_an_unknown_tool_or_a_malformed_call_is_refused(
    mcp_client: McpClient, revision: str, params: dict[str, Any], expected_message: str
) -> None:
    error = mcp_client.error("tools/call", params, revision=revision)

    assert error["code"] == -32602
    assert expected_message in error["message"]


@requirement("tools:answer", "tools:output-schema")
@each_revision
def test_text_and_structured_content_carry_the_complete_answer(mcp_client: McpClient, revision: str) -> None:
    arguments = {"filters": [{"dimension": "service", "values": ["EC2"]}], "start_date": "2026-11-01"}
    result = mcp_client.result("tools/call", {"name": "echo", "arguments": arguments}, revision=revision)
    answer = json.loads(result["content"][0]["text"])

    assert result["isError"] is False
    assert answer["got"]["filters"] == arguments["filters"]
    assert answer["got"]["start_date"] == "2026-11-01"
    assert answer["account"] == "acme"
    if revision != "2025-03-26":
        assert result["structuredContent"] == answer


@requirement("tools:arguments")
@each_revision
def test_a_refusal_is_an_error_result_that_says_all_in_its_text(mcp_client: McpClient, revision: str) -> None:
    result = mcp_client.result(
        "tools/call", {"name": "echo", "arguments": {"top": "many"}}, revision=revision
    )

    assert result["isError"] is True
    assert result["content"] == [
        {"type": "text", "text": 'top: "many" is not a whole number. It is at least 1 and at most 50.'}
    ]
    assert "structuredContent" not in result


@requirement("prompts:list")
@each_revision
def test_prompts_are_listed_with_their_arguments(mcp_client: McpClient, revision: str) -> None:
    (prompt,) = mcp_client.result("prompts/list", revision=revision)["prompts"]

    assert prompt["name"] == "weekly"
    arguments = [(argument["name"], argument["required"]) for argument in prompt["arguments"]]
    assert arguments == [("team", True), ("mood", False)]


@requirement("prompts:get")
@each_revision
def test_a_prompt_is_rendered_with_its_arguments(mcp_client: McpClient, revision: str) -> None:
    params = {"name": "weekly", "arguments": {"team": "Core"}}

    (message,) = mcp_client.result("prompts/get", params, revision=revision)["messages"]

    assert message == {"role": "user", "content": {"type": "text", "text": "How was the week of Core?"}}


@requirement("prompts:get")
@each_revision
@pytest.mark.parametrize(
    ("params", "expected_message"),
    [
        ({"name": "weakly"}, "Unknown prompt: weakly. Nearest: weekly. prompts/list has them all."),
        ({"name": "weekly"}, "weekly needs team."),
        ({"name": "weekly", "arguments": {"team": " "}}, "weekly needs team."),
        ({"name": "weekly", "arguments": {"team": None}}, "weekly needs team."),
        ({"name": "weekly", "arguments": {"team": 7}}, "team of weekly must be a string."),
        (
            {"name": "weekly", "arguments": {"team": "x" * 301}},
            "team of weekly must have at most 300 characters and no NUL.",
        ),
        (
            {"name": "weekly", "arguments": {"team": "Core", "teem": "x"}},
            "Nearest: team. Arguments: team, mood.",
        ),
        ({"name": "weekly", "arguments": ["Core"]}, "params.arguments must be an object."),
        ({}, "params.name must be a string."),
    ],
)
def test_an_unknown_prompt_or_argument_is_refused(
    mcp_client: McpClient, revision: str, params: dict[str, Any], expected_message: str
) -> None:
    error = mcp_client.error("prompts/get", params, revision=revision)

    assert error["code"] == -32602
    assert expected_message in error["message"]


def completion(
    mcp_client: McpClient,
    typed: str,
    *,
    argument: str = "team",
    context: Any = None,
    revision: str = schemas.MODERN,
) -> dict[str, Any]:
    extra = {} if context is None else {"context": context}
    params = {
        "ref": {"type": "ref/prompt", "name": "weekly"},
        "argument": {"name": argument, "value": typed},
    }
    values: dict[str, Any] = mcp_client.result("completion/complete", {**params, **extra}, revision=revision)[
        "completion"
    ]
    return values


@requirement("completion:complete", "completion:limit")
@each_revision
def test_an_argument_is_completed_with_a_hundred_values_at_most(mcp_client: McpClient, revision: str) -> None:
    everything = completion(mcp_client, "", revision=revision)
    few = completion(mcp_client, "team 14", revision=revision)

    assert (len(everything["values"]), everything["total"], everything["hasMore"]) == (100, 150, True)
    assert few == {"values": [f"team {number}" for number in range(140, 150)], "total": 10, "hasMore": False}


@requirement("completion:context")
@each_revision
def test_other_arguments_given_already_count_for_a_completion(mcp_client: McpClient, revision: str) -> None:
    values = completion(mcp_client, "", context={"arguments": {"mood": "happy"}}, revision=revision)

    assert values["values"][0] == "happy 000"


@requirement("completion:context")
@pytest.mark.parametrize(
    "context", [{}, {"arguments": {}}, {"arguments": {"mood": 7, "nope": "x"}}, {"arguments": {"mood": ""}}]
)
def test_other_arguments_that_say_nothing_narrow_nothing(mcp_client: McpClient, context: Any) -> None:
    assert completion(mcp_client, "", context=context)["values"][0] == "team 000"


@requirement("completion:complete")
@pytest.mark.parametrize(("argument", "typed"), [("mood", "gl"), ("team", "x" * 301), ("team", "nothing")])
def test_without_values_nothing_is_suggested(mcp_client: McpClient, argument: str, typed: str) -> None:
    assert completion(mcp_client, typed, argument=argument) == {"values": [], "total": 0, "hasMore": False}


@requirement("completion:complete")
@each_revision
@pytest.mark.parametrize(
    ("changes", "expected_message"),
    [
        ({"ref": {"type": "ref/prompt", "name": "weakly"}}, "Unknown prompt: weakly. Nearest: weekly."),
        ({"ref": {"type": "ref/prompt"}}, "params.ref.name must be a string."),
        (
            {"ref": {"type": "ref/resource", "uri": "file:///{name}"}},
            "No such argument of a resource template.",
        ),
        ({"ref": None}, "params.ref.type must be ref/prompt or ref/resource."),
        ({"argument": {"name": "teem", "value": ""}}, "weekly has no argument teem. Nearest: team."),
        ({"argument": {"name": "team"}}, "params.argument.value must be a string."),
        ({"argument": "team"}, "params.argument must be an object."),
        ({"context": {"arguments": ["x"]}}, "params.context.arguments must be an object."),
    ],
)
def test_a_malformed_completion_is_refused(
    mcp_client: McpClient, revision: str, changes: dict[str, Any], expected_message: str
) -> None:
    params = {
        "ref": {"type": "ref/prompt", "name": "weekly"},
        "argument": {"name": "team", "value": ""},
        **changes,
    }

    error = mcp_client.error("completion/complete", params, revision=revision)

    assert error["code"] == -32602
    assert expected_message in error["message"]


@requirement("methods:capabilities", "prompts:list", "prompts:get")
@each_revision
def test_without_prompts_the_list_of_them_is_empty(bare: McpClient, revision: str) -> None:
    assert bare.result("prompts/list", revision=revision)["prompts"] == []
    assert bare.error("prompts/get", {"name": "weekly"}, revision=revision)["code"] == -32602


@requirement("resources:empty")
@each_revision
def test_there_are_no_resources(mcp_client: McpClient, revision: str) -> None:
    assert mcp_client.result("resources/list", revision=revision)["resources"] == []
    assert mcp_client.result("resources/templates/list", revision=revision)["resourceTemplates"] == []
    error = mcp_client.error("resources/read", {"uri": "file:///etc/passwd"}, revision=revision)
    assert error["code"] == (-32602 if revision == schemas.MODERN else -32002)


@requirement("methods:crash")
@pytest.mark.parametrize("revision", schemas.REVISIONS)
def test_a_fault_of_ours_is_an_internal_error_with_an_incident(
    cast: Cast, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = McpClient(mint(cast), toy_server(_Broken())).error("tools/list", revision=revision)  # type: ignore[arg-type]

    assert error["code"] == -32603
    incident = error["message"].removeprefix("Internal error (incident ").removesuffix(")")
    assert len(incident) == 12
    assert "inside" not in error["message"]
    assert incident in caplog.text


class _Broken:
    """A registry that fails, as code does that nobody thought could."""

    def freeze(self) -> None:
        return None

    def prompts(self) -> tuple[()]:
        return ()

    def callable_by(self, *, may_write: bool) -> Server:
        raise RuntimeError("detail of the inside")

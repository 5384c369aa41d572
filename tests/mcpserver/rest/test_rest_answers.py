"""The REST API answers what the MCP server answers: same tools, same JSON, same refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpserver.registry import Tool, ToolAccess, registry
from mcpserver.rest.openapi import document
from tests.cast import Cast
from tests.examples import examples
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.rest.rest_client import RestClient

READ_TOOLS = [tool for tool in registry if tool.access is ToolAccess.READ]
each_read_tool = pytest.mark.parametrize("tool", READ_TOOLS, ids=lambda tool: tool.name)

CASES = [(tool, dict(example)) for tool in READ_TOOLS for example in tool.examples]
# What a person or program may send for any argument, right or wrong.
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 60),
    st.text(max_size=12),
    st.sampled_from(["last_30_days", "service", "USD", "EUR", "own", "2026-03-01", "day"]),
    st.lists(st.sampled_from(["service", "region", "colour"]), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)


@pytest.fixture
def cast(account_with_marks: Cast, db: None) -> Cast:
    return account_with_marks


@pytest.fixture
def key(cast: Cast, settings: Any) -> str:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 1_000_000
    return mint(cast)


@each_read_tool
def test_the_answers_of_rest_are_those_of_the_mcp_tool_and_fit_the_document(key: str, tool: Tool) -> None:
    whole = document()
    responses = whole["paths"][f"/api/v1/tools/{tool.name}"]["post"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]
    for example in tool.examples:
        answer = RestClient(key).ask(tool.name, **example)

        assert answer == McpClient(key).ask(tool.name, **example)
        Draft202012Validator({**schema, "components": whole["components"]}).validate(answer)


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_whatever_is_sent_the_answer_or_problem_is_that_of_the_mcp_tool(
    key: str, data: st.DataObject
) -> None:
    tool, example = data.draw(st.sampled_from(CASES))
    names = st.sampled_from([*tool.input_schema["properties"], "nonsense"])
    arguments = {**example, **data.draw(st.dictionaries(names, VALUES, max_size=2))}

    over_mcp, response = (
        McpClient(key).call(tool.name, **arguments),
        RestClient(key).call(tool.name, arguments),
    )

    assert (response.status_code != 200) == over_mcp["isError"]
    answer = json.loads(response.content)
    if over_mcp["isError"]:
        assert response.status_code == 422
        assert answer["detail"] == over_mcp["content"][0]["text"]
    else:
        assert answer == over_mcp["structuredContent"]

"""The names of arguments: one set over all tools, prompts and widgets (docs/api.md)."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from django.conf import settings

from finops.alerts.events.event_types import EVENT_TYPES
from finops.dashboards.widgets import CATALOGUE
from finops.lib.renamed_fields import RENAMED_FIELDS
from mcpserver.registry import Tool, registry
from mcpserver.schema import arguments_schema
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import McpClient

OLD_NAMES = [
    (tool, old, new)
    for tool in registry
    for old, new in RENAMED_FIELDS
    if new in tool.input_schema["properties"] and old not in tool.input_schema["properties"]
]
OLD_PROMPT_NAMES = [
    (prompt.name, old, new)
    for prompt in registry.prompts()
    for old, new in RENAMED_FIELDS
    if new in {each.name for each in prompt.arguments}
]
ROW = re.compile(r"^\| `(\w+)` \| ([a-z, ]+) \| .+ \|$", re.MULTILINE)
TYPES = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "object",
    "string": "text",
}


def documented() -> dict[str, str]:
    text = (settings.BASE_DIR / "docs" / "api.md").read_text()
    rows = ROW.findall(text.partition("## Names of arguments")[2].partition("\n## ")[0])
    assert len(rows) == len({name for name, _ in rows})
    return dict(rows)


def type_of(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return "text"  # a name or an ID
    return "day" if schema.get("format") == "date" else TYPES[schema["type"]]


@requirement("tools:schemas")
def test_a_name_of_arguments_has_one_type_in_all_tools_which_is_documented() -> None:
    types: dict[str, set[str]] = {}
    for tool in registry:
        for name, schema in tool.input_schema["properties"].items():
            types.setdefault(name, set()).add(type_of(schema))
    for prompt in registry.prompts():
        for argument in prompt.arguments:
            types.setdefault(argument.name, {"text"})

    assert {name: {kind} for name, kind in documented().items()} == types


@pytest.mark.parametrize(
    "kind",
    [*(each.arguments for each in EVENT_TYPES.values()), *(each.config for each in CATALOGUE.values())],
    ids=lambda kind: kind.__name__,
)
def test_arguments_of_events_and_settings_of_widgets_have_the_types_of_tools(
    kind: type[msgspec.Struct],
) -> None:
    table = documented()
    types = {name: type_of(schema) for name, schema in arguments_schema(kind)["properties"].items()}

    assert {name: table[name] for name in types if name in table} == {
        name: kind for name, kind in types.items() if name in table
    }
    for old, new in RENAMED_FIELDS:
        assert not {old, new} <= types.keys()


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("listBudgets", {"status": ["ok"]}, 'listBudgets has no argument "status". It is called "statuses".'),
        ("listBudgets", {"scope": "team"}, 'listBudgets has no argument "scope". It is called "scopes".'),
        ("listChangeEvents", {"scope": {"service": ["EC2"]}}, 'no argument "scope". It is called "filters".'),
        ("listAlertSubscriptions", {"trigger": "budget"}, 'argument "trigger". It is called "triggers".'),
        (
            "simulateCost",
            {"growth": [{"metric": "requests", "quantity": 1}]},
            'growth[0] has no field "metric". It is called "usage_metric".',
        ),
    ],
)
def test_the_form_of_another_type_is_refused_with_its_name(
    mcp_client: McpClient, tool: str, arguments: dict[str, Any], problem: str
) -> None:
    assert problem in mcp_client.problem(tool, **arguments)


def test_no_tool_or_prompt_has_an_old_name_beside_the_new_one() -> None:
    names = [set(tool.input_schema["properties"]) for tool in registry]
    names += [{each.name for each in prompt.arguments} for prompt in registry.prompts()]

    for old, new in RENAMED_FIELDS:
        assert any(new in each for each in names)
        assert not any({old, new} <= each for each in names)


@requirement("tools:unknown-argument")
@pytest.mark.parametrize(("tool", "old", "new"), OLD_NAMES, ids=lambda each: getattr(each, "name", each))
def test_an_old_name_is_refused_with_the_new_one(writer: McpClient, tool: Tool, old: str, new: str) -> None:
    problem = writer.problem(tool.name, **{old: 1})

    assert problem.startswith(f'{tool.name} has no argument "{old}". It is called "{new}".')


@requirement("prompts:arguments")
@pytest.mark.parametrize(("prompt", "old", "new"), OLD_PROMPT_NAMES)
def test_an_old_name_of_a_prompt_is_refused_with_the_new_one(
    mcp_client: McpClient, prompt: str, old: str, new: str
) -> None:
    problem = mcp_client.error("prompts/get", {"name": prompt, "arguments": {old: "1"}})

    assert f'{prompt} has no argument {old}. It is called "{new}".' in problem["message"]


def test_a_group_is_one_where_the_tool_has_one(mcp_client: McpClient) -> None:
    for tool in ("queryUsage", "queryCostTag", "getCommitmentUtilization"):
        assert "At most 1 items" in mcp_client.problem(tool, group_by=["account", "service"])

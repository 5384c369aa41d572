"""The names of arguments: one set over all tools, prompts and widgets (docs/api.md)."""

from __future__ import annotations

import pytest

from finops.lib.renamed_fields import RENAMED_FIELDS
from mcpserver.registry import Tool, registry
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import McpClient

OLD_NAMES = [
    (tool, old, new)
    for tool in registry
    for old, new in RENAMED_FIELDS.items()
    if new in tool.input_schema["properties"] and old not in tool.input_schema["properties"]
]


OLD_PROMPT_NAMES = [
    (prompt.name, old, new)
    for prompt in registry.prompts()
    for old, new in RENAMED_FIELDS.items()
    if new in {each.name for each in prompt.arguments}
]


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

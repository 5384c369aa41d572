"""The calls that prompts name, read out of their texts and made, in order, on the demo company."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from finops.costs.dimensions import registry as dimensions
from mcpserver.registry import Prompt, ToolAccess, registry
from mcpserver.schema import whole_answer_schema
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.prompts.prompt_client import calls_in, completion, text_of, values, words_in

PROMPTS = list(registry.prompts())
WRITE_TOOLS = {tool.name for tool in registry if tool.access is ToolAccess.WRITE}
TOOL_LIKE = re.compile(r"(list|query|get|explain|forecast|simulate|plan|create|set|delete)(_|[A-Z])\w+")

# Arguments that mean something only beside another.
BESIDE = {"value": {"filter_by": "team"}}

each_prompt = pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def reader(demo: dict[str, str], db: None) -> McpClient:
    return McpClient(demo["mcp_key_read"])


@pytest.fixture
def writer(demo: dict[str, str], db: None) -> McpClient:
    return McpClient(demo["mcp_key_read_write"])


def run_calls(mcp_client: McpClient, text: str) -> list[dict[str, Any]]:
    calls = calls_in(text)
    assert len(calls) >= 3
    results = [(name, mcp_client.call(name, **arguments)) for name, arguments in calls]
    refusals = [(name, result["content"][0]["text"]) for name, result in results if result["isError"]]
    assert refusals == []
    return [result["structuredContent"] for _, result in results]


@requirement("prompts:calls")
@each_prompt
def test_the_calls_of_a_prompt_work_in_their_order_without_any_argument(
    reader: McpClient, prompt: Prompt
) -> None:
    answers = run_calls(reader, text_of(reader, prompt.name))

    assert all(answer["console_url"] for answer in answers)
    assert any(isinstance(value, list) and value for answer in answers for value in answer.values())


@requirement("prompts:calls", "completion:complete")
@each_prompt
def test_each_argument_completes_and_its_calls_work_with_what_it_completes_to(
    reader: McpClient, prompt: Prompt
) -> None:
    for argument in prompt.arguments:
        beside = BESIDE.get(argument.name, {})
        if argument.name == "filter_by":
            continue  # goes with value
        completions = values(reader, prompt.name, argument.name, **beside)
        assert completions, argument.name
        for value in dict.fromkeys([completions[0], completions[-1]]):
            run_calls(reader, text_of(reader, prompt.name, **beside, **{argument.name: value}))


@requirement("completion:complete")
@each_prompt
def test_everything_that_is_suggested_is_taken(reader: McpClient, prompt: Prompt) -> None:
    for argument in prompt.arguments:
        beside = BESIDE.get(argument.name, {})
        if argument.name == "filter_by":
            continue
        for value in values(reader, prompt.name, argument.name, **beside)[:12]:
            assert text_of(reader, prompt.name, **beside, **{argument.name: value})


@requirement("prompts:calls")
@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        (
            "weekly_cost_digest",
            {
                "week": "2026-W45",
                "team": "Payments",
                "cost_source": "aws",
                "group_by": "tag:env",
                "basis": "amortized",
            },
        ),
        (
            "anomaly_check",
            {"month": "2026-11", "cost_source": "Anthropic", "minimum_impact": "12.5", "currency": "usd"},
        ),
        (
            "top_cost_drivers",
            {
                "month": "2026-10",
                "group_by": "region",
                "filter_by": "provider",
                "value": "aws",
                "basis": "billed",
            },
        ),
        ("savings_review", {"rule": "volume_type", "minimum_saving": "1", "currency": "EUR"}),
        ("commitment_review", {"month": "2026-11", "provider": "azure"}),
        ("budget_health", {"scope": "team", "budget": "Team Growth"}),
    ],
)
def test_the_calls_of_a_prompt_work_with_every_argument_at_once(
    reader: McpClient, prompt: str, arguments: dict[str, str]
) -> None:
    registered_prompt = registry.get_prompt(prompt)
    assert registered_prompt is not None
    assert set(arguments) == {argument.name for argument in registered_prompt.arguments}

    run_calls(reader, text_of(reader, prompt, **arguments))


@requirement("prompts:calls")
@each_prompt
def test_every_tool_argument_and_field_that_its_text_names_exists(writer: McpClient, prompt: Prompt) -> None:
    text = text_of(writer, prompt.name)
    words = words_in(text)
    tools = {name for name, _ in calls_in(text)} | {word for word in words if TOOL_LIKE.fullmatch(word)}

    assert {word for word in words if not TOOL_LIKE.fullmatch(word)} <= set(words_of_tools(tools))


def words_of_tools(tools: set[str]) -> Iterator[str]:
    """The arguments of these tools, their choices, their answers' fields; and dimensions."""
    yield from (kind.display_name for kind in dimensions.kinds())
    for name in tools:
        tool = registry.get(name)
        assert tool is not None, name
        yield from _words(tool.input_schema)
        yield from _words(whole_answer_schema(tool.answer))


def _words(schema: Any) -> Iterator[str]:
    """Names of fields and choices, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        yield from schema.get("enum", ())
        for part in schema.values():
            yield from _words(part)
    if isinstance(schema, list):
        for part in schema:
            yield from _words(part)


@requirement("prompts:write")
@each_prompt
def test_a_read_only_credential_lists_no_tool_that_writes(reader: McpClient, prompt: Prompt) -> None:
    text = text_of(reader, prompt.name)

    assert not [name for name in WRITE_TOOLS if name in text]
    assert "offer" not in text


@requirement("prompts:write")
def test_a_read_write_credential_is_offered_what_would_help_and_only_after_asking(writer: McpClient) -> None:
    offered = {name for prompt in PROMPTS for name in WRITE_TOOLS if name in text_of(writer, prompt.name)}

    assert offered == {"create_budget", "create_alert_subscription"}
    for prompt in PROMPTS:
        text = text_of(writer, prompt.name)
        assert not {name for name, _ in calls_in(text)} & WRITE_TOOLS
        assert ("only do after I said yes" in text) == any(name in text for name in WRITE_TOOLS)


@each_prompt
def test_the_text_of_a_prompt_says_how_to_use_figures_and_what_to_answer(
    reader: McpClient, prompt: Prompt
) -> None:
    text = text_of(reader, prompt.name)

    for phrase in (
        "arithmetic",
        "currency",
        "`data_through`",
        "`warnings`",
        "Headline:",
        "Table",
        "`console_url`",
    ):
        assert phrase in text
    assert "2026-11-20" in text
    assert len(text.encode()) < 6_000


def test_completing_narrows_by_what_was_typed_and_given(reader: McpClient) -> None:
    teams = values(reader, "weekly_cost_digest", "team")
    prompt, argument = "top_cost_drivers", "value"

    assert values(reader, "weekly_cost_digest", "team", teams[0][:3].upper())[0] == teams[0]
    assert values(reader, prompt, argument, "aws", filter_by="provider") == ["AWS"]
    assert set(values(reader, prompt, argument, filter_by="team")) >= set(teams)
    assert values(reader, prompt, argument) == []
    assert values(reader, prompt, argument, filter_by="tag:nope") == []
    assert values(reader, "weekly_cost_digest", "week", cost_source="FOCUS sample (real, anonymised)")[
        0
    ].startswith("2024-09")
    assert "source" not in values(reader, "weekly_cost_digest", "group_by", cost_source="AWS")
    assert {each.partition(":")[0] for each in values(reader, "budget_health", "budget", scope="team")}
    assert completion(reader, prompt, argument, filter_by="resource")["hasMore"] is True

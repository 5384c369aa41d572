"""Every argument of a prompt reaches every call whose tool can take it. A new prompt, step or argument joins by itself."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcpserver.registry import registry
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.prompts.prompt_client import PROMPT_ARGUMENTS, calls_in, text_of

GIVEN = {
    "anomaly_check": {"month": "2026-02", "cost_source": "Clouds", "minimum_impact": "5", "currency": "EUR"},
    "budget_health": {"scope": "team", "budget": "Growth of the year"},
    "commitment_review": {"month": "2026-02", "provider": "Google Cloud"},
    "savings_review": {"rule": "volume_type", "minimum_saving": "7", "currency": "EUR"},
    "top_cost_drivers": {
        "month": "2026-03",
        "group_by": "region",
        "filter_by": "provider",
        "value": "AWS",
        "basis": "billed",
    },
    "weekly_cost_digest": {
        "week": "2026-02-09",
        "team": "Growth",
        "cost_source": "Clouds",
        "group_by": "region",
        "basis": "billed",
    },
}

ENDS = {"2026-02": "2026-02-28", "2026-03": "2026-03-31", "2026-02-09": "2026-02-15"}

Arguments = dict[str, Any]


def as_call(name: str, value: str, argument_texts: dict[str, str]) -> Arguments:
    """An argument of a prompt as arguments of a call: a filter is `filters.<dimension>`."""
    if name in ("month", "week"):
        return {"end_date": ENDS[value]}
    if name == "cost_source":
        return {name: value, "filters.source": [value]}
    if name in ("team", "provider", "currency"):
        return {name: value, f"filters.{name}": [value]}
    call_arguments: dict[str, Arguments] = {
        "minimum_impact": {"minimum_impact": 5},
        "minimum_saving": {"minimum_saving": 7},
        "group_by": {"group_by": value},
        "budget": {
            "filters.team": ["Growth"],
            "filters.currency": ["USD"],
            "scopes": ["team"],
            "basis": "amortized",
        },
        "scope": {"scopes": [value]},
        "filter_by": {},
        "value": {f"filters.{argument_texts.get('filter_by')}": [value]},
    }
    return call_arguments.get(name, {name: value})


def missing_arguments(prompt: str, tool: str, call: Arguments) -> list[str]:
    """The prompt's arguments that the tool takes, under whatever name, and the call does not have."""
    tool_entry = registry.get(tool)
    assert tool_entry is not None, tool
    takes = tool_entry.input_schema["properties"]
    call_values = {
        **call,
        **{f"filters.{each['dimension']}": each["values"] for each in call.get("filters", [])},
    }
    call_values["group_by"] = next(
        (name for name in call.get("group_by", []) if name in GIVEN[prompt].values()), ""
    )
    return [
        f"{name} as {argument}"
        for name, value in GIVEN[prompt].items()
        for argument, expected in as_call(name, value, GIVEN[prompt]).items()
        if argument.partition(".")[0] in takes and call_values.get(argument) != expected
    ]


@requirement("prompts:calls")
@pytest.mark.parametrize("prompt", PROMPT_ARGUMENTS)
def test_each_argument_is_in_every_call_whose_tool_takes_it(mcp_client: McpClient, prompt: str) -> None:
    assert set(GIVEN[prompt]) == set(PROMPT_ARGUMENTS[prompt])

    calls = calls_in(text_of(mcp_client, prompt, **GIVEN[prompt]))

    assert len(calls) >= 3
    assert [
        (tool, call, names)
        for tool, call in calls
        if (tool, names := missing_arguments(prompt, tool, call))[1]
    ] == []
    for tool, call in calls:
        tool_entry = registry.get(tool)
        assert tool_entry is not None
        Draft202012Validator(tool_entry.input_schema).validate(call)
        assert not mcp_client.call(tool, **call)["isError"]


@requirement("prompts:calls")
@pytest.mark.parametrize(
    ("scope", "dimension"),
    [("team", "team"), ("cost_source", "source"), ("cost_tag", "cost_tag:product line")],
)
def test_cost_that_no_budget_watches_is_distinguished_by_the_scope(
    mcp_client: McpClient, scope: str, dimension: str
) -> None:
    calls = calls_in(text_of(mcp_client, "budget_health", scope=scope))

    assert [dimension] in [call.get("group_by") for tool, call in calls if tool == "querySpend"]

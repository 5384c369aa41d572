"""Completion of the arguments of prompts, on the small account at noon of Friday, 20 March 2026."""

from __future__ import annotations

import pytest

from accounts.scoping import account_scope
from finops.allocation.models import Team
from mcpserver.prompt_builder import arguments as known_arguments
from tests.cast import Cast
from tests.conformance.requirements import requirement
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.prompts.conftest import FIRST
from tests.mcpserver.prompts.prompt_client import PROMPT_ARGUMENTS, completion, refusal, text_of, values


@requirement("completion:complete")
@pytest.mark.parametrize(
    ("prompt", "argument", "typed", "expected"),
    [
        ("weekly_cost_digest", "team", "", ["Core platform", "Growth"]),
        ("weekly_cost_digest", "team", "GRO", ["Growth"]),
        ("weekly_cost_digest", "team", "platform", ["Core platform"]),
        ("weekly_cost_digest", "cost_source", "c", ["Clouds", "Archive"]),
        ("weekly_cost_digest", "week", "2026-03", ["2026-03-16", "2026-03-09", "2026-03-02"]),
        ("weekly_cost_digest", "basis", "am", ["amortized"]),
        ("weekly_cost_digest", "group_by", "tag:", ["tag:env", "tag:squad", "cost_tag:product line"]),
        ("top_cost_drivers", "month", "", ["2026-03", "2026-02", "2026-01", "2025-11"]),
        ("anomaly_check", "currency", "", ["EUR", "USD"]),
        ("anomaly_check", "minimum_impact", "5", ["50", "500", "5000"]),
        ("commitment_review", "provider", "", ["Google Cloud", "AWS"]),
        ("commitment_review", "provider", "clou", ["Google Cloud"]),
        ("savings_review", "rule", "commit", ["unused_commitment"]),
        ("budget_health", "budget", "", ["Everything", "Growth of the year", "The clouds"]),
        ("budget_health", "scope", "c", ["cost_source", "cost_tag", "account"]),
    ],
)
def test_an_argument_completes_from_what_the_account_has(
    mcp_client: McpClient, prompt: str, argument: str, typed: str, expected: list[str]
) -> None:
    result = completion(mcp_client, prompt, argument, typed)

    assert result == {"values": expected, "total": len(expected), "hasMore": False}


@requirement("completion:context")
def test_other_arguments_narrow_what_is_suggested(mcp_client: McpClient) -> None:
    assert values(mcp_client, "budget_health", "budget", scope="team") == ["Growth of the year"]
    assert values(mcp_client, "budget_health", "budget", scope="Team") == ["Growth of the year"]
    assert values(mcp_client, "weekly_cost_digest", "week", cost_source="archive") == ["2025-11-03"]
    assert values(mcp_client, "anomaly_check", "month", cost_source="Archive") == ["2025-11"]
    assert values(mcp_client, "top_cost_drivers", "value", filter_by="tag:squad") == [
        "growth",
        "core",
        "(untagged)",
    ]
    assert values(mcp_client, "top_cost_drivers", "value", "east", filter_by="region") == ["us-east-1"]
    assert values(mcp_client, "top_cost_drivers", "value", filter_by="nonsense") == []
    assert {"team", "source"} <= set(values(mcp_client, "weekly_cost_digest", "group_by"))
    assert "team" not in values(mcp_client, "weekly_cost_digest", "group_by", team="Growth")


@requirement("completion:limit")
def test_a_hundred_of_many_are_suggested_and_the_rest_counted(mcp_client: McpClient, cast: Cast) -> None:
    with account_scope(cast.account):
        teams = [Team(account=cast.account, name=f"Team {number:03}") for number in range(120)]
        Team.objects.bulk_create(teams)
        lines = [cost(FIRST, number + 1, resource_id=f"i-{number:03}") for number in range(130)]
        add_source(cast.account, lines, name="Machines")

    result = completion(mcp_client, "weekly_cost_digest", "team", "team ")
    machines = completion(mcp_client, "top_cost_drivers", "value", "I-", filter_by="resource")

    assert (len(result["values"]), result["total"], result["hasMore"]) == (100, 120, True)
    assert (len(machines["values"]), machines["total"], machines["hasMore"]) == (100, 130, True)
    assert "value" in text_of(mcp_client, "top_cost_drivers", filter_by="resource", value="i-000")


@requirement("completion:complete")
def test_a_suggestion_that_takes_too_long_is_omitted_without_an_error(
    mcp_client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_arguments, "COMPLETION_SECONDS", -1.0)

    assert values(mcp_client, "commitment_review", "provider") == []
    assert values(mcp_client, "weekly_cost_digest", "team") == ["Core platform", "Growth"]


@requirement("completion:complete", "prompts:get")
def test_another_accounts_names_neither_complete_nor_count(empty: McpClient) -> None:
    names = ("Core", "Growth", "Cloud", "squad", "product line", "2026", "AWS", "EUR")

    for prompt, arguments in PROMPT_ARGUMENTS.items():
        for argument in arguments:
            beside = {"filter_by": "provider"} if argument == "value" else {}
            suggestions = " ".join(values(empty, prompt, argument, **beside))
            assert not [name for name in names if name in suggestions]
    for prompt, argument, own_name in (
        ("weekly_cost_digest", "team", "Growth"),
        ("weekly_cost_digest", "cost_source", "Clouds"),
        ("weekly_cost_digest", "group_by", "tag:squad"),
        ("commitment_review", "provider", "AWS"),
        ("budget_health", "budget", "Everything"),
    ):
        message = refusal(empty, prompt, **{argument: own_name})
        other = refusal(empty, prompt, **{argument: f"{own_name}x"})
        shown = own_name.removeprefix("tag:")
        assert message == other.replace(f"{shown}x", shown)
    assert '"Elsewhere"' in text_of(empty, "budget_health")

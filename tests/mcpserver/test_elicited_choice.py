"""Elicitation for a name that the account does not have, with several similar names, where the client supports it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.allocation.services.teams import create_team
from finops.budgets.models import Budget
from finops.unitcosts.models import CustomerKey
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.test_elicitation import LINKS_ALONE, call

BUDGET: dict[str, Any] = {"name": "Q2", "amount": 500, "currency": "USD", "scope": "team", "team": "Payments"}


@pytest.fixture(autouse=True)
def teams(cast: Cast) -> None:
    with account_scope(cast.account):
        for name in ("Payments EU", "Payments US", "Search"):
            create_team(account=cast.account, actor=cast.actor, name=name)


def choose(name: str, action: str = "accept") -> dict[str, Any]:
    return {"choice": {"action": action, "content": {"choice": name}}}


def team_of_budget(cast: Cast) -> str:
    with account_scope(cast.account):
        row = Budget.objects.select_related("team").get()
        assert row.team is not None
        return row.team.name


def test_the_person_chooses_and_the_tool_runs_with_her_choice(cast: Cast, writer: McpClient) -> None:
    response = call(writer, "create_budget", BUDGET)

    assert response["resultType"] == "input_required"
    request = response["inputRequests"]["choice"]["params"]
    assert request["message"] == "team: 'Payments' does not exist. Which one do you mean?"
    names = request["requestedSchema"]["properties"]["choice"]["enum"]
    assert sorted(names) == ["Payments EU", "Payments US"]

    result = call(
        writer,
        "create_budget",
        BUDGET,
        requestState=response["requestState"],
        inputResponses=choose("Payments US"),
    )

    assert result["resultType"] == "complete"
    assert team_of_budget(cast) == "Payments US"


@pytest.mark.parametrize(
    "response", [choose("Payments US", "decline"), choose("Search"), choose("Payments US", "cancel")]
)
def test_without_one_of_the_names_nothing_is_done(
    cast: Cast, writer: McpClient, response: dict[str, Any]
) -> None:
    state = call(writer, "create_budget", BUDGET)["requestState"]

    refusal = call(writer, "create_budget", BUDGET, requestState=state, inputResponses=response)

    assert refusal["isError"]
    assert refusal["content"][0]["text"].startswith("The person chose none of these names.")
    with account_scope(cast.account):
        assert not Budget.objects.exists()


def test_a_choice_counts_for_its_own_call_alone(cast: Cast, writer: McpClient) -> None:
    state = call(writer, "create_budget", BUDGET)["requestState"]
    other = {**BUDGET, "amount": 5_000_000}
    someone = McpClient(mint(cast, "read_write"))

    for mcp_client, arguments, sent in (
        (writer, other, state),
        (someone, BUDGET, state),
        (writer, BUDGET, f"{state}x"),
    ):
        again = call(
            mcp_client,
            "create_budget",
            arguments,
            requestState=sent,
            inputResponses=choose("Payments US"),
        )
        assert again["resultType"] == "input_required"
    with account_scope(cast.account):
        assert not Budget.objects.exists()


@pytest.mark.parametrize(
    ("tool", "dimension", "tag"),
    [
        ("querySpend", "customer", "customer"),
        ("querySpend", "tag:env", "env"),
        ("simulateCost", "service", ""),
    ],
)
def test_a_value_of_a_filter_that_a_tool_refuses_is_chosen_too(
    cast: Cast, mcp_client: McpClient, tool: str, dimension: str, tag: str
) -> None:
    with account_scope(cast.account):
        CustomerKey.objects.create(account=cast.account, dimension="tag:customer")
        lines = [
            cost(date(2026, 3, 2), amount, service=name, currency="USD", tags={tag: name} if tag else {})
            for name, amount in (("globex-eu", 30), ("globex-us", 12), ("initech", 5))
        ]
        add_source(cast.account, lines)
    arguments = {
        "start_date": "2026-03-01",
        "end_date": "2026-03-10",
        "filters": [{"dimension": dimension, "values": ["globex"]}],
    }

    response = call(mcp_client, tool, arguments)
    request = response["inputRequests"]["choice"]["params"]
    state = response["requestState"]
    result = call(mcp_client, tool, arguments, requestState=state, inputResponses=choose("globex-us"))

    assert sorted(request["requestedSchema"]["properties"]["choice"]["enum"]) == ["globex-eu", "globex-us"]
    (total,) = result["structuredContent"]["totals"]
    assert total["amount" if tool == "querySpend" else "baseline"] == 12


def test_a_client_without_elicitation_gets_the_names(writer: McpClient) -> None:
    answer = writer.result("tools/call", {"name": "create_budget", "arguments": BUDGET, "_meta": LINKS_ALONE})

    assert answer["isError"]
    assert "'Payments EU'" in answer["content"][0]["text"]


def test_one_name_that_is_near_needs_no_person(writer: McpClient) -> None:
    answer = call(writer, "create_budget", {**BUDGET, "team": "Serch"})

    assert answer["isError"]


def test_a_choice_of_ours_is_no_question(writer: McpClient) -> None:
    answer = call(writer, "create_budget", {**BUDGET, "scope": "teams"})

    assert answer["isError"]

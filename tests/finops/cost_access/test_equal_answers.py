"""Limited cost access: every tool answers as in an account that never had the other lines, or is refused.

A new tool joins by itself.
"""

from __future__ import annotations

import json

import pytest
from django.test import Client

from accounts.scoping import account_scope
from finops.budgets.models import Budget
from finops.cost_access import reach
from finops.lib.cost_access import REFUSED
from mcpserver.registry import Tool, registry
from tests.cast import signed_in
from tests.factories.cost_access import LIMIT, SECRET, Pair
from tests.finops.cost_access.comparison import answer_text, assert_same_text, plain
from tests.finops.cost_access.questions import QUESTIONS
from tests.isolation.discovery import account_routes
from tests.mcpserver.mcp_client import McpClient

TOOLS = list(registry)
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


@each_tool
def test_a_tool_answers_as_without_the_other_lines_or_is_refused(pair: Pair, tool: Tool) -> None:
    for arguments in [*tool.examples, *QUESTIONS.get(tool.name, []), {}]:
        limited = answer_text(pair.limited_key, tool, dict(arguments))
        if tool.name not in reach.TOOLS:
            assert limited == f"{REFUSED} {reach.instead_of(tool.name)}".strip()
            continue
        expected = answer_text(pair.inside_key, tool, dict(arguments))
        assert_same_text(plain(limited, pair), plain(expected, pair))
        if limited.startswith("{"):
            assert json.loads(limited)["summary"].startswith(f"Cost access is limited to '{LIMIT}'.")


def test_every_tool_that_is_reached_has_questions() -> None:
    """Without an entry in tests/finops/cost_access/questions.py a tool would be asked its examples alone."""
    assert set(QUESTIONS) == reach.TOOLS
    assert {tool.name for tool in TOOLS} >= reach.TOOLS
    names = {tool.name for tool in TOOLS} | {route.name for route in account_routes()}
    names |= {prompt.name for prompt in registry.prompts()}
    assert {*reach.INSTEAD, *reach.LEFT_OUT} <= names


def test_only_what_is_proven_is_listed(pair: Pair) -> None:
    mcp_client = McpClient(pair.limited_key)
    assert {each["name"] for each in mcp_client.result("tools/list")["tools"]} == set(reach.TOOLS)
    assert {each["name"] for each in mcp_client.result("prompts/list")["prompts"]} == set(reach.PROMPTS)
    answer = Client().get("/api/v1/tools", headers={"authorization": f"Bearer {pair.limited_key}"})
    assert {each["name"] for each in answer.json()["tools"]} == set(reach.TOOLS)


def test_rest_and_configuration_have_the_same_access_check(pair: Pair) -> None:
    headers = {"authorization": f"Bearer {pair.limited_key}"}
    for method, path in (
        ("GET", "/api/v1/configuration"),
        ("POST", "/api/v1/configuration/plan"),
        ("POST", "/api/v1/configuration/apply"),
        ("POST", "/api/v1/tools/listAnomalies"),
        ("POST", "/api/v1/tools/delete_dashboard"),
    ):
        body = json.dumps({"dashboard_id": 1}) if "delete" in path else ""
        extra = {"idempotency-key": "k"} if "delete" in path else {}
        answer = Client().generic(
            method, path, body, content_type="application/json", headers={**headers, **extra}
        )
        assert answer.status_code == 403, (path, answer.content)
        assert REFUSED in answer.content.decode()
    answer = Client().post("/api/v1/tools/querySpend", "{}", content_type="application/json", headers=headers)
    assert answer.json()["summary"].startswith(f"Cost access is limited to '{LIMIT}'.")
    assert SECRET not in answer.content.decode()


def test_a_budget_beyond_the_limit_does_not_exist_for_its_alerts(pair: Pair) -> None:
    with account_scope(pair.whole):
        budget = Budget.objects.get(name__startswith=SECRET)
    tool = next(each for each in TOOLS if each.name == "listAlertSubscriptions")
    answer = answer_text(pair.limited_key, tool, {"budget": budget.pk})
    assert f"budget: '{budget.pk}' does not exist." in answer
    assert SECRET not in answer
    url = f"/a/{pair.whole.slug}/alerts/of-budget/{budget.pk}/"
    assert signed_in(pair.reader).get(url).status_code == 404

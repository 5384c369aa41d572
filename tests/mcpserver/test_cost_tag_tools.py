"""listCostTags and queryCostTag, called over MCP with a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint

pytestmark = pytest.mark.django_db

PROD = {"name": "Live", "when": {"dimension": "tag:env", "values": ["prod", "live"]}, "value": "Production"}
REST = {"copy": {"keys": ["env", "stage"], "normalise": ["trim", "lower"]}, "valid_from": "2026-01-01"}


@pytest.fixture
def mcp_client(cast: Cast) -> McpClient:
    with account_scope(cast.account):
        _spend(cast.account)
    create_cost_tag(account=cast.account, actor=cast.actor, key="environment", rules=read_rules([PROD, REST]))
    return McpClient(mint(cast))


def _spend(account: Account) -> None:
    day = datetime.now(UTC).date() - timedelta(days=2)
    add_source(
        account,
        [
            cost(day, 1, tags={"env": "LIVE"}, account_id="1"),
            cost(day, 2, tags={"env": "prod"}, account_id="2"),
            cost(day, 4, tags={"stage": " Test "}, account_id="2"),
            cost(day, 8, account_id="1"),
            cost(day, 16, tags={"env": "live"}, currency="EUR", account_id="1"),
        ],
    )


def test_the_rules_are_listed_in_order_and_in_words(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("listCostTags")

    (tag,) = answer["cost_tags"]
    assert (tag["key"], tag["dimension"], tag["rules_count"]) == ("environment", "cost_tag:environment", 2)
    assert tag["rules"][0] == "1. Live: tag:env is prod or live → Production"
    assert tag["rules"][1].startswith("2. every line → copy of tag env, else stage, without spaces around it")
    assert answer["summary"].startswith("'Acme': cost tag 'environment' (2 rules).")


def test_many_rules_come_page_by_page_each_once(cast: Cast, mcp_client: McpClient) -> None:
    many = [{**PROD, "name": f"Rule {number} {'x' * 60}", "value": "v" * 200} for number in range(250)]
    create_cost_tag(account=cast.account, actor=cast.actor, key="many", rules=read_rules(many))
    rule_names, cursor = [], ""
    while True:
        answer = mcp_client.ask("listCostTags", cost_tag="MANY", cursor=cursor)
        rule_names += [rule.partition(".")[0] for tag in answer["cost_tags"] for rule in tag["rules"]]
        cursor = answer["cursor"]
        if not cursor:
            break

    assert rule_names == [str(number) for number in range(1, 251)]


def test_values_are_exact_in_each_currency_with_what_is_untagged(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("queryCostTag", cost_tag="Environment")

    assert [
        (each["value"], each["amount"], each["after_splits"], each["currency"]) for each in answer["values"]
    ] == [
        ("Production", 16, 16, "EUR"),
        ("(untagged)", 8, 8, "USD"),
        ("test", 4, 4, "USD"),
        ("Production", 3, 3, "USD"),
    ]
    assert [(each["amount"], each["untagged"], each["currency"]) for each in answer["totals"]] == [
        (16, 0, "EUR"),
        (15, 8, "USD"),
    ]
    assert "(untagged)" in answer["hint"]


def test_by_says_where_each_value_comes_from(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("queryCostTag", group_by="account", values=["production"])

    assert [(row["group"], row["amount"], row["currency"]) for row in answer["rows"]] == [
        ({"cost_tag:environment": "Production", "account": "1"}, 16, "EUR"),
        ({"cost_tag:environment": "Production", "account": "2"}, 2, "USD"),
        ({"cost_tag:environment": "Production", "account": "1"}, 1, "USD"),
    ]
    assert "group_by=cost_tag%3Aenvironment&group_by=account" in answer["console_url"]


def test_more_values_than_requested_are_summed_in_other(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("queryCostTag", limit=1)

    usd = [each for each in answer["values"] if each["currency"] == "USD"]
    assert [(each["value"], each["amount"], each.get("other_values")) for each in usd] == [
        ("(untagged)", 8, None),
        ("other", 7, 2),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("queryCostTag", {"cost_tag": "enviroment"}, "Nearest: 'environment'. Use listCostTags."),
        ("listCostTags", {"cost_tag": "enviroment"}, "Nearest: 'environment'. Use listCostTags."),
        ("queryCostTag", {"group_by": "acount"}, "Nearest: account"),
        ("querySpend", {"group_by": ["cost_tag:enviroment"]}, "Nearest: 'environment'."),
        (
            "listCostTags",
            {"cursor": "x"},
            ("cursor does not belong to these arguments. Remove it to start again."),
        ),
    ],
    ids=["cost tag", "listed", "by", "spend", "cursor"],
)
def test_an_unknown_value_names_the_nearest(
    mcp_client: McpClient, tool: str, arguments: dict[str, Any], message: str
) -> None:
    assert message in mcp_client.problem(tool, **arguments)


def test_other_tools_take_a_cost_tag_as_a_dimension(mcp_client: McpClient) -> None:
    spend = mcp_client.ask("querySpend", group_by=["cost_tag:environment"], period="last_30_days")
    values = mcp_client.ask("listDimensionValues", dimension="cost_tag:environment")
    context = mcp_client.ask("getAccountContext")

    assert {row["group"]["cost_tag:environment"] for row in spend["rows"]} == {
        "Production",
        "test",
        "(untagged)",
    }
    assert {value["value"] for value in values["values"]} == {"Production", "test", "(untagged)"}
    assert context["cost_tags"] == ["environment"]

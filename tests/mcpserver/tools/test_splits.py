"""listSharedCostSplits and figures after splits, called over MCP with a key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import SharedCostSplit
from mcpserver.registry import registry
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint


@pytest.fixture
def account_with_split(cast: Cast) -> Account:
    """Ninety days of cost of two currencies, and a split of it."""
    today = datetime.now(UTC).date()
    lines = [
        cost(today - timedelta(days=back), amount, service=service, currency=currency)
        for back in range(1, 91)
        for service, amount in (("EKS", "10"), ("S3", "3"), ("RDS", "1"))
        for currency in ("USD", "EUR")
    ]
    with account_scope(cast.account):
        add_source(cast.account, lines)
        SharedCostSplit.objects.create(
            account=cast.account,
            name="Cluster",
            dimension="service",
            source_value="EKS",
            method="proportional",
            targets=[{"value": "S3", "percent": None}, {"value": "RDS", "percent": None}],
        )
    return cast.account


def test_each_split_says_what_it_moved_with_its_currency(
    mcp_client: McpClient, account_with_split: Account
) -> None:
    answer = mcp_client.ask("listSharedCostSplits")

    (split,) = answer["splits"]
    days = {28: 280, 29: 290, 30: 300, 31: 310}[int(answer["end_date"][-2:])]
    assert split["moved"] == [{"amount": days, "currency": "EUR"}, {"amount": days, "currency": "USD"}]
    assert [target["value"] for target in split["targets"]] == ["S3", "RDS"]
    assert split["targets"][0]["received"] == [
        {"amount": days * 3 / 4, "currency": "EUR"},
        {"amount": days * 3 / 4, "currency": "USD"},
    ]
    assert "1 shared-cost split; from " in answer["summary"]
    assert "'Cluster' moved" in answer["summary"]
    assert answer["console_url"].endswith("/a/acme/shared-costs/")


def test_a_question_after_splits_says_which_applied(
    mcp_client: McpClient, account_with_split: Account
) -> None:
    answer = mcp_client.ask("querySpend", period="last_30_days", group_by=["service"], splits="after")

    assert {row["group"]["service"]: row["amount"] for row in answer["rows"]} == {"S3": 315, "RDS": 105}
    assert [split["name"] for split in answer["applied_splits"]] == ["Cluster"]
    assert "splits=after" in answer["console_url"]


def test_hundreds_of_targets_fit(mcp_client: McpClient, cast: Cast, account_with_split: Account) -> None:
    with account_scope(cast.account):
        for number in range(60):
            SharedCostSplit.objects.create(
                account=cast.account,
                name=f"A split with quite a long name, number {number}",
                dimension="region",
                source_value=f"source {number}",
                method="even",
                targets=[
                    {"value": f"a target with a long name {each}", "percent": None} for each in range(200)
                ],
            )

    assert (
        "with up to 5 targets each. Narrow with search."
        in mcp_client.ask("listSharedCostSplits")["truncated"]
    )
    assert len(mcp_client.ask("listSharedCostSplits", search="CLUSTER")["splits"]) == 1


def test_another_account_has_none_of_them(cast: Cast, account_with_split: Account) -> None:
    other_client = McpClient(mint(replace(cast, account=cast.other_account)))

    assert other_client.ask("listSharedCostSplits")["splits"] == []


def test_the_definition_is_small() -> None:
    tool = registry.get("listSharedCostSplits")
    assert tool is not None
    shape = {"description": tool.description, "input": tool.input_schema}
    assert len(msgspec.json.encode(shape)) <= 1_200

"""Other spellings of tags, and the cost tags and teams that cover them: each case misled an assistant once; on a small made-up account, its figures added up by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.lib import clock
from tests.cast import Cast
from tests.factories.costs import Line, add_source, cost
from tests.mcpserver.answers.questions import WEEK
from tests.mcpserver.mcp_client import McpClient


def a_day_of_environments() -> list[Line]:
    day = clock.today() - timedelta(days=2)
    return [
        cost(day, 100, tags={"env": "production"}),
        cost(day, 700, tags={"Environment": "prod"}),
        cost(day, 30, tags={"env": "PRD"}),
        cost(day, 20, tags={"env": "Prod", "Environment": "Production"}),
        cost(day, 9, tags={"Environment": "Production"}, currency="EUR"),
        cost(day, 50, tags={"Environment": "staging"}),
        cost(day, 4, tags={"env": "nonprod"}),
        cost(day, 60, account_id="live"),
        cost(day, 11, service="Mail", tags={"Environment": "prod"}),
        cost(day, 3, service="Mail"),
    ]


ENVIRONMENT_RULES = [
    {
        "copy": {
            "keys": ["env", "Environment"],
            "normalise": ["lower"],
            "map": {"prod": "production", "prd": "production"},
        }
    },
    {"when": {"dimension": "account", "values": ["live"]}, "value": "production"},
]


def test_other_spellings_and_what_covers_them_are_next_to_a_tag(
    acme: Account, cast: Cast, writer: McpClient
) -> None:
    add_source(acme, a_day_of_environments())
    create_cost_tag(account=acme, actor=cast.actor, key="environment", rules=read_rules(ENVIRONMENT_RULES))
    set_team_key(account=acme, actor=cast.actor, dimension="tag:env")
    team = create_team(account=acme, actor=cast.actor, name="Platform")
    own_value(team=team, actor=cast.actor, value="prd")

    def answer_for(value: str, **other: str) -> dict[str, Any]:
        filters = [{"dimension": "tag:env", "values": [value]}]
        filters += [{"dimension": name, "values": [each]} for name, each in other.items()]
        return writer.ask("querySpend", **WEEK, filters=filters)

    whole = answer_for("production")
    assert whole["totals"][0]["amount"] == 100
    assert (
        "not in it: 761.00 USD and 9.00 EUR under other spellings "
        "(tag:Environment = prod 711.00 USD, tag:env = PRD 30.00 USD and 2 more)" in whole["summary"]
    )
    assert "cost tag environment = production 921.00 USD and 9.00 EUR" in whole["summary"]
    assert (
        "tag:env = production leaves out 761.00 USD and 9.00 EUR under other spellings: tag:Environment = prod 711.00 USD, "
        "tag:env = PRD 30.00 USD, tag:env = Prod 20.00 USD, tag:Environment = Production 9.00 EUR."
    ) in whole["warnings"]
    assert "Beside tag:env = production: team = Platform 30.00 USD." in whole["warnings"]
    mail = answer_for("prd", service="Mail")
    assert (
        "; not in it: 11.00 USD under other spellings (tag:Environment = prod 11.00 USD)" in mail["summary"]
    )

    refusal = writer.problem(
        "querySpend", **WEEK, filters=[{"dimension": "tag:Environment", "values": ["prd"]}]
    )
    assert (
        "tag:Environment = prd leaves out 861.00 USD and 9.00 EUR under other spellings: tag:Environment = prod 711.00 USD, "
        "tag:env = production 100.00 USD, tag:env = PRD 30.00 USD, "
        "tag:Environment = Production 20.00 USD and 9.00 EUR." in refusal
    )


def test_other_spellings_beside_sums_that_were_split_or_spread_say_how_they_count(
    acme: Account, writer: McpClient
) -> None:
    add_source(acme, a_day_of_environments())
    SharedCostSplit.objects.create(
        account=acme,
        name="Shared",
        dimension="tag:env",
        source_value="nonprod",
        method="even",
        targets=[{"value": "production", "percent": None}],
    )

    def answer_for(**more: str) -> dict[str, Any]:
        filters = [{"dimension": "tag:env", "values": ["production"]}]
        return writer.ask("querySpend", **WEEK, filters=filters, **more)

    for more, amount, how in (
        ({}, 100, ""),
        ({"splits": "after"}, 104, " (before shared-cost splits)"),
        ({"spread": "charge_period"}, 100, " (on the charge day)"),
    ):
        answer = answer_for(**more)
        assert answer["totals"][0]["amount"] == amount
        assert answer["summary"].endswith(f"tag:env = PRD 30.00 USD and 2 more){how}.")
        assert f"tag:Environment = Production 9.00 EUR{how}." in " ".join(answer["warnings"])


@pytest.mark.parametrize(
    ("op", "value", "message"),
    [
        (
            "not_in",
            "production",
            "tag:env not production keeps 761.00 USD and 9.00 EUR under other spellings",
        ),
        ("contains", "rod", "tag:env containing rod leaves out 711.00 USD and 9.00 EUR under other"),
        ("absent", "", "761.00 USD and 9.00 EUR without tag:env has keys that mean the same"),
    ],
)
def test_other_operators_name_other_spellings(
    acme: Account, writer: McpClient, op: str, value: str, message: str
) -> None:
    add_source(acme, a_day_of_environments())
    values = [value] if value else []

    answer = writer.ask("querySpend", **WEEK, filters=[{"dimension": "tag:env", "op": op, "values": values}])

    assert any(each.startswith(message) for each in answer["warnings"])


def test_other_keys_are_next_to_groups_of_a_tag(acme: Account, writer: McpClient) -> None:
    add_source(acme, a_day_of_environments())

    answer = writer.ask("querySpend", **WEEK, group_by=["tag:env"])

    assert (
        "761.00 USD and 9.00 EUR without tag:env has keys that mean the same: tag:Environment "
        "761.00 USD and 9.00 EUR." in answer["warnings"]
    )
    assert "without tag:env has it under other keys (tag:Environment" in answer["summary"]
    assert "tag:env PRD, Prod and production may mean the same: together 150.00 USD." in answer["warnings"]


def test_untagged_no_team_and_a_default_value_name_each_other(
    acme: Account, cast: Cast, writer: McpClient
) -> None:
    add_source(acme, a_day_of_environments())
    create_cost_tag(
        account=acme,
        actor=cast.actor,
        key="environment",
        rules=read_rules(ENVIRONMENT_RULES),
        default_value="Not assigned",
    )
    set_team_key(account=acme, actor=cast.actor, dimension="tag:env")
    own_value(
        team=create_team(account=acme, actor=cast.actor, name="Platform"),
        actor=cast.actor,
        value="production",
    )

    def related_values(dimension: str, value: str) -> list[str]:
        answer = writer.ask("querySpend", **WEEK, filters=[{"dimension": dimension, "values": [value]}])
        return [each for each in answer["warnings"] if each.startswith("Beside ")]

    untagged = "tag:env = (untagged) 824.00 USD and 9.00 EUR."
    no_team = "team = (no team) 878.00 USD and 9.00 EUR."
    default = "cost tag environment = Not assigned 3.00 USD."
    filters = [{"dimension": "tag:env", "values": ["(untagged)"]}]
    assert (
        "; 761.00 USD and 9.00 EUR without tag:env has it under other keys (tag:Environment 761.00 USD and 9.00 EUR)"
        in writer.ask("querySpend", **WEEK, filters=filters)["summary"]
    )
    assert related_values("tag:env", "(untagged)") == [
        f"Beside tag:env = (untagged): {no_team}",
        f"Beside tag:env = (untagged): {default}",
    ]
    assert related_values("team", "(no team)") == [
        f"Beside team = (no team): {untagged}",
        f"Beside team = (no team): {default}",
    ]
    assert {f"Beside cost_tag:environment = (untagged): {each}" for each in (untagged, no_team)} <= set(
        related_values("cost_tag:environment", "Not assigned")
    )

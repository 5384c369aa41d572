"""First sentences of teams, splits, cost tags, savings and budgets: days without bills, and what their figures lack."""

from __future__ import annotations

from datetime import date
from typing import Any

from accounts.models import Account
from finops.allocation.rules import Copy, Rule
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from finops.allocation.services.teams import create_team
from finops.costs.services.cost_view import change_cost_view
from tests.cast import Cast
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.factories.days import days
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient


def add_march(account: Account, **columns: Any) -> None:
    """10 USD a day from 1 to 19 March; today is the 20th."""
    add_source(account, [cost(day, 10, **columns) for day in MARCH_TO_DATE], name=f"Bill {columns}")


def test_teams_without_cost_are_not_said_to_own_all_of_it(
    acme: Account, cast: Cast, mcp_client: McpClient
) -> None:
    create_team(account=acme, actor=cast.actor, name="Core")

    nothing = summary_of(mcp_client, "listTeams")
    add_march(acme)
    february = summary_of(mcp_client, "listTeams")

    assert nothing == (
        "'Acme' has 1 team; it has no cost from 2026-02-01 to 2026-02-28; no bill covers these days."
    )
    assert february == nothing


def test_teams_name_the_days_of_their_month_that_bills_cover(
    acme: Account, cast: Cast, mcp_client: McpClient
) -> None:
    create_team(account=acme, actor=cast.actor, name="Core")
    add_source(acme, [cost(day, 10) for day in days(date(2026, 2, 15), date(2026, 3, 19))])

    assert summary_of(mcp_client, "listTeams") == (
        "'Acme' has 1 team; 140.00 USD of its cost from 2026-02-01 to 2026-02-28 has no team; "
        "bills cover 14 of 28 days."
    )


def test_splits_name_days_without_bills_and_how_many_are_not_listed(
    acme: Account, cast: Cast, mcp_client: McpClient
) -> None:
    for name in ("A", "B", "C", "D"):
        draft = SplitDraft(name, "service", f"Shared {name}", "even", targets=[("Compute", "")])
        create_split(account=acme, actor=cast.actor, draft=draft)
    add_march(acme)

    sentence = summary_of(mcp_client, "listSharedCostSplits")

    assert sentence == (
        "'Acme' has 4 shared-cost splits; from 2026-02-01 to 2026-02-28, 'A' moved nothing, 'B' moved nothing, "
        "'C' moved nothing and 1 more; no bill covers these days."
    )


def test_a_cost_tag_names_charge_categories_left_out_and_values_without_cost(
    acme: Account, cast: Cast, mcp_client: McpClient
) -> None:
    add_march(acme, tags={"team": "core"})
    add_source(acme, [cost(MARCH_TO_DATE[0], 50, charge_category="Tax", tags={"team": "core"})], name="Tax")
    create_cost_tag(account=acme, actor=cast.actor, key="team", rules=[Rule(copy=Copy(keys=("team",)))])
    change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=["Usage"])
    arguments = {"cost_tag": "team", "period": "month_to_date"}

    sentence = summary_of(mcp_client, "queryCostTag", **arguments, values=["core", "crew"])

    assert "spent 190.00 USD on the requested values" in sentence
    assert "(billed, Usage charge categories, without 50.00 USD of Tax)" in sentence
    assert "; no cost on these days has 'cost_tag:team' 'crew'" in sentence


def test_savings_name_the_days_that_bills_cover(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)

    assert "; bills cover 19 of 30 days" in summary_of(mcp_client, "listSavingsRecommendations")


def test_budgets_that_are_ok_without_cost_or_forecast_are_named(acme: Account, writer: McpClient) -> None:
    create_budget(acme, "Empty", 100)
    assert "; spend unknown: 'Empty'" in summary_of(writer, "listBudgets")

    add_source(acme, [cost(day, 10) for day in days(date(2026, 3, 10), date(2026, 3, 19))])

    assert "1 budget: 1 exceeded" in summary_of(writer, "listBudgets")
    create_budget(acme, "Roomy", 1000)
    sentence = summary_of(writer, "listBudgets")
    assert "; without a forecast: 'Roomy'" in sentence
    assert "spend unknown" not in sentence

"""Questions of a FinOps lead to an assistant, and whether the answers lead to the right next call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.scoping import account_scope
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.lib import clock
from tests.cast import Cast
from tests.factories.costs import Line, add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
LIVE = {"name": "Live", "when": {"dimension": "tag:env", "values": ["prod"]}, "value": "Production"}


def commitment_line(back: int, amount: str, status: str, name: str, currency: str) -> Line:
    columns = {"commitment_id": name, "commitment_name": name, "commitment_type": "Savings Plan"}
    line = cost(
        clock.today() - timedelta(days=back),
        0,
        **columns,
        commitment_status=status,
        pricing_category="Committed",
        currency=currency,
        service="Fleet",
    )
    return line | {"effective_cost": Decimal(amount)}


@pytest.fixture
def mcp_client(cast: Cast) -> Iterator[McpClient]:
    """Two weeks of many dollars and few euros, of which one service each moved; and a commitment in each currency."""
    with clock.frozen(NOON):
        yield McpClient(_key_with_bills(cast))


def _key_with_bills(cast: Cast) -> str:
    """A read/write key to the account with its bills."""
    lines: list[Line] = []
    for back in range(1, 15):
        day, week = clock.today() - timedelta(days=back), 2 if back < 8 else 1
        lines += [
            cost(day, 100 * week, service="Compute", tags={"env": "prod"}),
            cost(day, 30, service="Mail"),
            cost(day, 2 * week, service="Disk", currency="EUR"),
        ]
    lines += [
        commitment_line(2, "80", "Used", "Plan of dollars", "USD"),
        commitment_line(2, "20", "Unused", "Plan of dollars", "USD"),
        commitment_line(2, "8", "Used", "Plan of euros", "EUR"),
        commitment_line(2, "2", "Unused", "Plan of euros", "EUR"),
    ]
    with account_scope(cast.account):
        add_source(cast.account, lines)
    create_cost_tag(account=cast.account, actor=cast.actor, key="environment", rules=read_rules([LIVE]))
    return mint(cast, "read_write")


def page_of(answer: dict[str, Any]) -> dict[str, list[str]]:
    return parse_qs(urlsplit(answer["console_url"]).query)


def test_a_risen_bill_is_explained_by_what_moved_in_each_currency_the_largest_first(
    mcp_client: McpClient,
) -> None:
    answer = mcp_client.ask("explainSpendChange", period="last_7_days")

    assert [total["currency"] for total in answer["totals"]] == ["USD", "EUR"]
    assert "(billed, all charge categories)" in answer["summary"]
    assert "most moved 'Compute' (+700.00 USD" in answer["summary"]
    assert "'Disk' (+14.00 EUR" in answer["summary"]
    assert answer["hint"].startswith("'Compute' in USD and 'Disk' in EUR changed most")


def test_spend_in_two_currencies_says_what_most_of_each_went_on(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("querySpend", period="last_7_days", group_by=["service"])

    assert answer["rows"][0] | {"share": 0} == {
        "group": {"service": "Compute"},
        "amount": 1400,
        "currency": "USD",
        "share": 0,
    }
    assert "most of USD on 'Compute' (87.0 %) and 'Mail" in answer["summary"]
    assert "most of EUR on 'Disk' (100.0 %)" in answer["summary"]


def test_the_most_wasteful_commitment_of_each_currency_is_named_with_what_it_wastes(
    mcp_client: McpClient,
) -> None:
    answer = mcp_client.ask("getCommitmentUtilization")

    assert answer["hint"].startswith(
        "'Plan of dollars' (20.00 USD) and 'Plan of euros' (2.00 EUR) waste most"
    )
    assert answer["summary"].index("USD") < answer["summary"].index("EUR")


def test_billed_cost_by_purchase_type_says_where_commitments_show(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("querySpend", period="last_7_days", group_by=["purchase type"])

    assert answer["group_by"] == ["pricing_category"]
    assert "basis amortized" in answer["hint"]
    amortized = mcp_client.ask(
        "querySpend", period="last_7_days", group_by=["pricing_category"], basis="amortized"
    )
    assert 100 in [row["amount"] for row in amortized["rows"]]


@pytest.mark.parametrize(
    ("message", "period"),
    [
        ("this_month", "month_to_date"),
        ("Current quarter", "quarter_to_date"),
        ("YTD", "year_to_date"),
        ("previous_month", "last_month"),
        ("previous week", "last_week"),
        ("last_quarter", "last_quarter"),
    ],
)
def test_a_period_in_other_words_is_taken_as_the_one_it_means(
    mcp_client: McpClient, message: str, period: str
) -> None:
    for tool in ("querySpend", "getCommitmentUtilization"):
        answer = mcp_client.ask(tool, period=message)
        assert answer["period"] == mcp_client.ask(tool, period=period)["period"] | {
            "name": answer["period"]["name"]
        }


def test_an_unknown_period_is_refused_with_all_valid_ones(mcp_client: McpClient) -> None:
    for tool in ("querySpend", "getCommitmentUtilization"):
        problem = mcp_client.problem(tool, period="fortnight")
        assert "Valid: " in problem
        assert "last_week" in problem


def test_the_coarser_granularity_that_a_refusal_names_is_taken(mcp_client: McpClient) -> None:
    days = {"start_date": "2019-01-01", "end_date": "2026-11-20"}
    problem = mcp_client.problem("querySpend", **days, granularity="day")
    named = re.search(r"coarser granularity \((\w+)", problem)

    assert named is not None
    mcp_client.ask("querySpend", **days, granularity=named[1])
    assert "at most 400 days" in problem


def test_operators_and_lists_in_other_words_are_taken(mcp_client: McpClient) -> None:
    answer = mcp_client.ask(
        "querySpend",
        period="last_7_days",
        filters=[{"dimension": ["service"], "op": "equals", "values": "Compute"}],
    )

    assert answer["totals"][0]["amount"] == 1400
    assert answer["resolved_filters"][0]["op"] == "in"


def test_cost_of_one_currency_is_requested_with_a_filter(mcp_client: McpClient) -> None:
    euros = [{"dimension": "currency", "values": ["eur"]}]
    answer = mcp_client.ask("querySpend", period="last_7_days", filters=euros, group_by=["service"])

    (total,) = answer["totals"]
    assert (total["amount"], total["currency"]) == (28, "EUR")
    assert answer["rows"][0]["group"] == {"service": "Disk"}


def test_a_value_lists_its_amounts_with_the_currency_of_most_money_first(mcp_client: McpClient) -> None:
    (value,) = mcp_client.ask("listDimensionValues", dimension="source", period="last_7_days")["values"]

    assert [each["currency"] for each in value["amounts"]] == ["USD", "EUR"]


def test_a_bare_key_is_answered_with_its_cost_tag_and_its_tag(mcp_client: McpClient) -> None:
    assert "cost_tag:environment" in mcp_client.problem("querySpend", group_by=["environment"])
    assert "tag:env" in mcp_client.problem("querySpend", group_by=["Env"])


def test_the_page_of_an_explained_change_opens_with_its_days(mcp_client: McpClient) -> None:
    assert page_of(mcp_client.ask("explainSpendChange"))["period"] == ["last_30_days"]


def test_the_page_of_a_cost_tag_has_the_values_basis_and_splits_of_the_query(mcp_client: McpClient) -> None:
    answer = mcp_client.ask(
        "queryCostTag",
        cost_tag="environment",
        values=["Production"],
        group_by=["service"],
        basis="amortized",
        splits="after",
    )

    page = page_of(answer)
    assert page["group_by"] == ["cost_tag:environment", "service"]
    assert (page["f0"], page["f0v"]) == (["cost_tag:environment"], ["Production"])
    assert (page["basis"], page["splits"]) == (["amortized"], ["after"])


def test_the_page_of_values_has_their_days_and_those_that_a_search_found(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("listDimensionValues", dimension="service", search="comp", period="last_7_days")

    page = page_of(answer)
    assert [page["start_date"][0], page["end_date"][0]] == [answer["start_date"], answer["end_date"]]
    assert (page["f0"], page["f0v"]) == (["service"], ["Compute"])


def test_the_call_that_a_budget_s_hint_spells_out_gives_what_it_spent(mcp_client: McpClient) -> None:
    scope = {"cost_tag": "environment", "cost_tag_value": "Production"}
    created = mcp_client.ask("create_budget", name="Live", amount=10, currency="USD", **scope)
    hint = mcp_client.ask("listBudgets")["hint"]

    question = json.loads(hint[hint.index("{") :])
    spent = mcp_client.ask("querySpend", **question)
    assert hint.startswith("Cost drivers of 'Live': querySpend ")
    assert spent["totals"][0]["amount"] == created["budget"]["spent"]


def test_a_budget_of_a_value_or_currency_without_cost_is_refused_with_what_has(mcp_client: McpClient) -> None:
    scope = {"cost_tag": "environment", "cost_tag_value": "Prod"}
    problem = mcp_client.problem("create_budget", name="Live", amount=10, currency="USD", **scope)
    other = mcp_client.problem("create_budget", name="Live", amount=10, currency="GBP")

    assert "no cost has cost_tag:environment 'Prod'. Nearest: 'Production'" in problem
    assert "the account has no cost in GBP, only in EUR and USD" in other


def test_an_amount_with_signs_is_answered_with_how_to_write_it(mcp_client: McpClient) -> None:
    problem = mcp_client.problem("create_budget", name="Live", amount="11,500 $", currency="USD")

    assert "such as 11500.50" in problem


def test_a_board_with_several_wrong_widgets_lists_all_of_them(mcp_client: McpClient) -> None:
    problem = mcp_client.problem(
        "create_dashboard",
        name="CFO",
        widgets=[
            {"type": "total", "config": {"period": "last_year_or_so"}},
            {"type": "spend_by", "config": {"group_by": ["provider"]}},
            {"type": "forecast"},
        ],
    )

    assert "widgets[0].config" in problem
    assert "widgets[1]" not in problem
    assert "widgets[2].type: 'forecast' does not exist" in problem


def test_where_the_days_of_a_year_fill_an_answer_every_commitment_is_still_listed(
    mcp_client: McpClient,
) -> None:
    answer = mcp_client.ask("getCommitmentUtilization", period="last_12_months", granularity="day", limit=20)
    recent = mcp_client.ask(
        "getCommitmentUtilization", start_date="2025-04-01", end_date="2026-03-17", granularity="day"
    )

    assert answer["rows"] == []
    assert {row["name"] for row in recent["rows"]} == {"Plan of dollars", "Plan of euros"}
    assert recent["totals"][0]["buckets"] == []
    assert recent["truncated"].startswith("Buckets are omitted. Use a coarser granularity or fewer days.")


def test_a_forecast_of_days_to_come_does_not_say_that_they_have_no_data(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("forecastSpend", period="next_days", days=30)

    assert not any(
        "No data in the period. Data is available from" in warning for warning in answer["warnings"]
    )
    assert any("Data is complete through 2026-03-17" in warning for warning in answer["warnings"])


def test_a_change_by_resource_and_usage_type_suggests_another_dimension(mcp_client: McpClient) -> None:
    arguments = {"period": "last_7_days", "group_by": ["resource", "usage_type"]}

    assert "group by account or region." in mcp_client.ask("explainSpendChange", **arguments)["hint"]
    compared = mcp_client.ask("querySpend", **arguments, compare_to="previous_period")
    assert "group by account for the cause." in compared["hint"]


def test_a_cost_tag_in_two_currencies_says_once_that_they_are_never_added(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("queryCostTag", cost_tag="environment", group_by="service", period="last_7_days")

    assert [total["currency"] for total in answer["totals"]] == ["USD", "EUR"]
    assert sum("which are not added" in warning for warning in answer["warnings"]) == 1

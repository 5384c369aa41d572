"""querySpend and its neighbours, called over MCP with a key."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from finops.costs.spend_query import SpendQuery
from tests.cast import Cast
from tests.mcpserver.mcp_client import McpClient

YEAR = {"period": "last_12_months"}


@pytest.fixture
def cast(busy_account: Cast, db: None) -> Cast:
    return busy_account


@pytest.mark.parametrize(
    "more",
    [
        {"group_by": ["service"], "granularity": "month", "limit": 50, "compare_to": "previous_year"},
        {"group_by": ["service", "account"], "limit": 50, "compare_to": "previous_period"},
        {"group_by": ["service", "account"], "granularity": "week", "limit": 50},
        {"group_by": ["provider"], "granularity": "day"},
        {"granularity": "day", "compare_to": "previous_year"},
    ],
)
def test_an_answer_fits_and_still_adds_up(mcp_client: McpClient, more: dict[str, Any]) -> None:
    answer = mcp_client.ask("querySpend", **YEAR, **more)

    for total in answer["totals"]:
        rows = [row for row in answer["rows"] if row["currency"] == total["currency"]]
        added = sum(row["amount"] for row in rows)
        assert not rows or added == pytest.approx(total["amount"], abs=0.001)
    folded = any(row.get("other_groups") for row in answer["rows"])
    assert (
        bool(answer["truncated"]) == folded
        or ("The series is omitted (25 KB limit). Use fewer days, a coarser granularity, or a filter.")
        in answer["truncated"]
    )


def test_the_console_url_is_the_page_with_the_same_question(mcp_client: McpClient) -> None:
    arguments = {
        "period": "last_month",
        "group_by": ["service", "tag:env"],
        "filters": [{"dimension": "provider", "op": "in", "values": ["AWS", "GCP & more"]}],
        "granularity": "week",
    }

    url = urlsplit(mcp_client.ask("querySpend", **arguments)["console_url"])

    assert url.path == "/a/acme/cost-explorer/"
    assert SpendQuery.from_params(parse_qs(url.query)).to_params() == parse_qs(url.query)
    assert SpendQuery.from_params(parse_qs(url.query)).filters[0].values == ["AWS", "GCP & more"]


def test_arguments_are_accepted_leniently(mcp_client: McpClient) -> None:
    answer = mcp_client.ask(
        "querySpend",
        period="Last Month",
        group_by="Service",
        limit="3",
        filters='[{"dimension": "cloud", "values": "aws"}]',
    )

    assert answer["group_by"] == ["service"]
    assert answer["resolved_filters"] == [
        {"dimension": "provider", "op": "in", "values": ["AWS"], "asked": ["aws"]}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group_by": ["servise"]}, "group_by: 'servise' does not exist. Nearest: service"),
        ({"groupby": ["service"]}, "querySpend has no argument"),
        (
            {"region": "eu"},
            'To filter by a dimension: "filters": [{"dimension": "region", "values": [...]}].',
        ),
        ({"period": "last_decade"}, "Nearest: last_week, last_7_days"),
        ({"start_date": "2026-01-01"}, "end_date is missing"),
        ({"charge_categories": ["Taxes"]}, ("charge_categories: 'Taxes' does not exist. Nearest: Tax")),
        (
            {"filters": [{"dimension": "service", "op": "like", "values": ["x"]}]},
            "Valid: absent, contains, ends_with, in",
        ),
        ({"limit": 51}, "at most 50"),
    ],
)
def test_an_error_alone_says_how_to_repair_the_call(
    mcp_client: McpClient, arguments: dict[str, Any], message: str
) -> None:
    assert message in mcp_client.problem("querySpend", **arguments)


def test_values_are_listed_page_by_page(mcp_client: McpClient) -> None:
    first = mcp_client.ask("listDimensionValues", dimension="service", limit=200)
    second = mcp_client.ask("listDimensionValues", dimension="service", limit=200, cursor=first["cursor"])

    assert first["total_values"] == 201
    assert not {v["value"] for v in first["values"]} & {v["value"] for v in second["values"]}


def test_the_context_says_where_to_begin(mcp_client: McpClient) -> None:
    context = mcp_client.ask("getAccountContext")

    assert context["access"] == "read"
    assert context["currencies"] == ["EUR", "USD"]
    assert len(context["tag_keys"]) == 50
    assert "50 of 61 tag keys listed" in context["truncated"]
    assert [source["name"] for source in context["sources"]] == ["All clouds"]


def test_the_context_lists_only_names_that_contain_a_text(mcp_client: McpClient) -> None:
    context = mcp_client.ask("getAccountContext", search="KEY-1")

    assert {tag["key"][:5] for tag in context["tag_keys"]} == {"key-1"}
    assert (len(context["tag_keys"]), context["truncated"]) == (10, "")
    assert context["usage_metrics"] == []
    assert mcp_client.ask("getAccountContext", search="request")["usage_metrics"] != []


def test_data_health_lists_one_connection_by_name(mcp_client: McpClient) -> None:
    health = mcp_client.ask("getDataHealth", connection="all clouds")

    assert [each["name"] for each in health["connections"]] == ["All clouds"]
    problem = mcp_client.problem("getDataHealth", connection="Al clouds")
    assert problem.startswith("connection: 'Al clouds' does not exist. Nearest: 'All clouds'.")


def test_data_health_answers(mcp_client: McpClient) -> None:
    health = mcp_client.ask("getDataHealth")

    assert [(each["kind"], each["status"]) for each in health["connections"]] == [
        ("usage", "no_data"),
        ("cost", "healthy"),
    ]
    assert health["console_url"].endswith("/a/acme/connections/health/")


def test_a_call_takes_few_database_queries(mcp_client: McpClient) -> None:
    with CaptureQueriesContext(connection) as queries:
        mcp_client.ask("querySpend", **YEAR, group_by=["service", "tag:env"], granularity="month")

    assert len([query for query in queries if "SELECT" in str(query["sql"])]) <= 10


@pytest.mark.parametrize(
    "arguments",
    [
        {"filters": [{"dimension": "service", "values": [f"{n} {'long ' * 300}" for n in range(400)]}]},
        {"filters": [{"dimension": "service", "op": "contains", "values": ["x" * 500_000]}]},
        {"group_by": [f"tag:{'k' * 250}", f"tag:{'K' * 250}"]},
    ],
)
def test_long_arguments_give_short_answers(mcp_client: McpClient, arguments: dict[str, Any]) -> None:
    answer = mcp_client.ask("querySpend", **YEAR, **arguments)

    assert len(answer["console_url"]) < 4_000


@pytest.mark.parametrize(
    "arguments",
    [
        {"group_by": ["x" * 500_000]},
        {"charge_categories": ["x" * 500_000]},
        {"filters": [{"dimension": "x" * 500_000, "values": ["y"]}]},
        {"filters": [{"dimension": "service", "values": ["y"] * 501}]},
    ],
)
def test_long_mistakes_give_short_errors(mcp_client: McpClient, arguments: dict[str, Any]) -> None:
    assert len(mcp_client.problem("querySpend", **arguments)) < 1_000

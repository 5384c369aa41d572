"""queryUnitCost, called over MCP with a key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import pytest
from django.db import connection
from django.db.models import Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.unitcosts.models import CustomerKey
from finops.unitcosts.services.customer_mappings import add_customer_alias
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion import services
from ingestion.models import Customer
from mcpserver.registry import registry
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_metrics, event, store_usage, usage_source
from tests.mcpserver.mcp_client import McpClient, mint
from tests.servers import LiveServer

DAYS, CUSTOMERS = 60, 150
PER_CUSTOMER = {"usage_metric": "requests", "mode": "per_customer", "period": "last_30_days", "limit": 100}


@pytest.fixture
def saas_account(cast: Cast) -> Account:
    """Two months of cost in two currencies and of requests, for 150 customers with long names."""
    account, today = cast.account, datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(1, DAYS)]
    names = [f"customer-{number:03}" for number in range(CUSTOMERS)]
    lines = [
        cost(
            day, f"{1 + place}.{day.day:02}", tags={"customer": name}, currency="USD" if place % 3 else "EUR"
        )
        for day in days[::5]
        for place, name in enumerate(names)
    ]
    lines += [cost(days[0], 1 + n, tags={"customer": f"a value of nobody, number {n}"}) for n in range(120)]
    lines += [cost(day, "12.5") for day in days]
    events = [event(day, name, place + 1, unit="call") for day in days for place, name in enumerate(names)]
    with account_scope(account):
        add_source(account, lines)
        add_metrics(account, events[:1])
        Customer.objects.bulk_create(Customer(account=account, customer_id=name) for name in names[1:])
        store_usage(
            account,
            [replace(each, position=place) for place, each in enumerate(events)],
            source=usage_source(account),
        )
        CustomerKey.objects.create(account=account, dimension="tag:customer")
        long = Concat("customer_id", Value(" of a name that is quite long, as names of companies are"))
        Customer.objects.update(name=long)
    return account


@pytest.mark.parametrize("granularity", ["none", "day", "week", "month"])
@pytest.mark.usefixtures("saas_account")
def test_an_answer_fits_and_its_rows_still_add_up(mcp_client: McpClient, granularity: str) -> None:
    answer = mcp_client.ask(
        "queryUnitCost", **{**PER_CUSTOMER, "granularity": granularity, "compare_to": "previous_period"}
    )

    for total in answer["totals"]:
        rows = [row for row in answer["rows"] if row["currency"] == total["currency"]]
        assert sum(row["cost"] for row in rows) == pytest.approx(total["cost"], abs=0.001)
        assert total["unit_cost"] == pytest.approx(total["cost"] / total["usage"], abs=0.00001)
    row_counts = [row.get("other_rows", 1) for row in answer["rows"] if row["status"] in ("matched", "rest")]
    assert sum(row_counts) == CUSTOMERS
    assert "other customers" in answer["truncated"]
    assert "25 KB" in answer["truncated"]


@pytest.mark.usefixtures("saas_account")
def test_a_long_trend_still_fits(mcp_client: McpClient) -> None:
    answer = mcp_client.ask(
        "queryUnitCost", usage_metric="requests", period="last_12_months", granularity="day"
    )

    assert "Trends are omitted. Use fewer days or a coarser granularity." in answer["truncated"]
    assert not any("buckets" in total for total in answer["totals"])


@pytest.mark.usefixtures("saas_account")
def test_the_console_url_is_the_page_with_the_same_question(mcp_client: McpClient, cast: Cast) -> None:
    arguments = {
        "usage_metric": "requests",
        "mode": "per_customer",
        "period": "last_month",
        "granularity": "week",
        "filters": [{"dimension": "tag:customer", "op": "not_in", "values": ["a & b", "customer-003"]}],
        "customers": ["customer-001", "customer-002"],
        "basis": "amortized",
        "charge_categories": ["Usage"],
        "compare_to": "previous_year",
        "limit": 5,
    }

    url = urlsplit(mcp_client.ask("queryUnitCost", **arguments)["console_url"])

    assert url.path == "/a/acme/unit-economics/"
    assert UnitCostQuery.from_params(parse_qs(url.query)) == msgspec.convert(arguments, UnitCostQuery)
    page = signed_in(cast.viewer).get(f"{url.path}?{url.query}")
    assert page.status_code == 200
    assert "customer-001 of a name" in page.content.decode()


@pytest.mark.usefixtures("saas_account")
def test_arguments_are_accepted_leniently(mcp_client: McpClient) -> None:
    answer = mcp_client.ask(
        "queryUnitCost",
        usage_metric="Requests",
        period="Last 30 days",
        filters='[{"dimension": "Tag:customer", "values": "customer-007"}]',
        customers="customer-007",
        limit="3",
    )

    assert answer["period"]["name"] == "last_30_days"
    assert answer["usage_metric"] == "requests"
    assert answer["resolved_filters"] == [
        {"dimension": "tag:customer", "op": "in", "values": ["customer-007"]}
    ]
    assert {total["unit_cost"] is None for total in answer["totals"]} == {False}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"usage_metric": "request"}, ("usage_metric: 'request' does not exist. Nearest: 'requests'")),
        ({}, "usage_metric"),
        ({"usage_metric": "x" * 500_000}, "has 500000 characters; the maximum is 100"),
        ({"usage_metric": "requests", "period": "last_decade"}, "Nearest: last_"),
        ({"usage_metric": "requests", "mode": "by_customer"}, "Nearest: per_customer"),
        ({"usage_metric": "requests", "group_by": ["service"]}, "queryUnitCost has no argument"),
        (
            {"usage_metric": "requests", "filters": [{"dimension": "servise", "values": ["x"]}]},
            "Nearest: service",
        ),
        ({"usage_metric": "requests", "limit": 101}, "at most 100"),
        ({"usage_metric": "requests", "customers": ["a\x00b"]}, "NUL"),
    ],
    ids=["metric", "no metric", "long metric", "period", "mode", "argument", "dimension", "top", "customer"],
)
@pytest.mark.usefixtures("saas_account")
def test_an_error_alone_says_how_to_repair_the_call(
    mcp_client: McpClient, arguments: dict[str, Any], message: str
) -> None:
    assert message in mcp_client.problem("queryUnitCost", **arguments)


def test_without_a_customer_key_the_tool_says_who_chooses_one_where(mcp_client: McpClient) -> None:
    assert (
        "needs a customer key: the cost tag or dimension with the customer_id of usage "
        "events. Members set it in Settings, Customer key. Until then use mode total without "
        "customers."
    ) in mcp_client.problem("queryUnitCost", usage_metric="requests", mode="per_customer")


@pytest.mark.parametrize(
    "arguments",
    [
        {"usage_metric": "requests", "customers": ["y" * 200_000]},
        {"usage_metric": "requests", "filters": [{"dimension": "service", "values": ["long " * 300] * 400}]},
    ],
    ids=["customer", "filter"],
)
@pytest.mark.usefixtures("saas_account")
def test_long_arguments_give_short_answers(mcp_client: McpClient, arguments: dict[str, Any]) -> None:
    assert len(mcp_client.ask("queryUnitCost", **arguments)["console_url"]) < 4_000


def test_before_any_usage_there_is_cost_currency_and_reason(mcp_client: McpClient, cast: Cast) -> None:
    with account_scope(cast.account):
        add_source(cast.account, [cost(datetime.now(UTC).date() - timedelta(days=2), 60)])

    answer = mcp_client.ask("queryUnitCost", usage_metric="requests")

    (total,) = answer["totals"]
    assert (total["cost"], total["currency"], total["usage"], total["unit_cost"]) == (60, "USD", None, None)
    assert "POST events with this metric to /api/usage/events" in total["reason"]


def test_the_context_says_by_what_customers_are_found(mcp_client: McpClient, saas_account: Account) -> None:
    assert mcp_client.ask("getAccountContext")["customer_key"] == "tag:customer"


def test_another_account_sees_nothing_of_it(saas_account: Account, cast: Cast) -> None:
    other_client = McpClient(mint(replace(cast, account=cast.other_account)))

    answer = other_client.ask("queryUnitCost", usage_metric="requests", period="last_30_days")

    assert (answer["totals"], answer["usage_days"]) == ([], 0)
    assert (
        "needs a customer key: the cost tag or dimension with the customer_id of usage "
        "events. Members set it in Settings, Customer key. Until then use mode total without "
        "customers."
    ) in other_client.problem("queryUnitCost", **PER_CUSTOMER)


def test_the_definition_is_small() -> None:
    tool = registry.get("queryUnitCost")
    assert tool is not None
    shape = {"description": tool.description, "input": tool.input_schema}
    assert len(msgspec.json.encode(shape)) <= 3_000


@pytest.mark.parametrize(
    ("more", "most"),
    [({"mode": "total"}, 9), ({}, 13), ({"compare_to": "previous_period"}, 14)],
    ids=["total", "per customer", "compared"],
)
def test_more_customers_ask_no_more_queries(
    mcp_client: McpClient, saas_account: Account, more: dict[str, Any], most: int
) -> None:
    mcp_client.ask("queryUnitCost", **{**PER_CUSTOMER, **more})
    with CaptureQueriesContext(connection) as few:
        mcp_client.ask("queryUnitCost", **{**PER_CUSTOMER, **more, "limit": 1})
    with account_scope(saas_account):
        actor = ACTOR
        for number in range(20):
            value = f"a value of nobody, number {number}"
            add_customer_alias(account=saas_account, actor=actor, value=value, customer_id="customer-001")
    with CaptureQueriesContext(connection) as many:
        mcp_client.ask("queryUnitCost", **{**PER_CUSTOMER, **more})

    assert len(few) == len(many) <= most


def live_account() -> dict[str, str]:
    """In the server's process: an account with cost, a customer key, a usage key and an MCP key."""
    from accounts.keys import mint_mcp_key
    from accounts.models import User
    from accounts.services import create_account

    owner = User.objects.create_user("live-unit-cost@example.com", "a long enough secret")
    account, actor = create_account(name="Live", owner=owner, slug="live-unit-cost"), Actor.of_user(owner)
    with account_scope(account):
        add_source(account, [cost(datetime.now(UTC).date(), 60, tags={"customer": "globex"})])
        CustomerKey.objects.create(account=account, dimension="tag:customer")
        source = services.create_usage_source(account=account, actor=actor, name="Backend")
        _key, usage_key = services.generate_usage_key(source=source, actor=actor)
    _mcp, mcp_key = mint_mcp_key(account=account, actor=actor, name="assistant")
    return {"usage": usage_key, "mcp": mcp_key}


def test_a_push_divides_the_cost_in_the_very_next_call_without_a_restart(
    live_server_process: LiveServer,
) -> None:
    keys = live_server_process.run("tests.mcpserver.test_unit_cost_tool:live_account")
    with httpx.Client(timeout=60) as client:

        def ask() -> dict[str, Any]:
            question = {"usage_metric": "orders", "mode": "per_customer", "period": "today"}
            answer = client.post(
                live_server_process.mcp_url,
                headers={"Authorization": f"Bearer {keys['mcp']}", "MCP-Protocol-Version": "2025-11-25"},
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "queryUnitCost", "arguments": question},
                },
            ).json()
            content: dict[str, Any] = answer["result"]["structuredContent"]
            return content

        def push(quantity: int) -> None:
            moment = datetime.now(UTC).isoformat()
            usage_event = {
                "customer_id": "globex",
                "metric": "orders",
                "quantity": quantity,
                "timestamp": moment,
            }
            headers = {"Authorization": f"Bearer {keys['usage']}"}
            answer = client.post(
                f"{live_server_process.url}/api/usage/events", headers=headers, json={"events": [usage_event]}
            )
            assert answer.json()["accepted"] == 1

        before = ask()
        assert [(total["cost"], total["unit_cost"]) for total in before["totals"]] == [(60, None)]
        assert before["rows"][0]["status"] == "unknown_customer"
        for quantity, unit_cost in [(20, 3), (10, 2)]:
            push(quantity)
            after = ask()
            assert [total["unit_cost"] for total in after["totals"]] == [unit_cost]
            assert [(row["customer_id"], row["unit_cost"]) for row in after["rows"]] == [
                ("globex", unit_cost)
            ]

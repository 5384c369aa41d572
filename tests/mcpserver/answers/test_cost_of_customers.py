"""Cost of customers, and values that no cost has: each case misled an assistant once; on a small made-up account, its figures added up by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.lib import clock
from finops.unitcosts.models import CustomerAlias, CustomerKey
from ingestion.models import Customer
from tests.factories.costs import add_source, cost
from tests.mcpserver.answers.questions import WEEK
from tests.mcpserver.mcp_client import McpClient


@pytest.fixture
def halden(acme: Account) -> Account:
    """Halden Freight (c-7, in one bill as HF Ltd) has 60 + 40 USD; 300 USD and 50 EUR are shared with c-8, half each."""
    day = clock.today() - timedelta(days=2)
    lines = [
        ("c-7", 60, "USD"),
        ("HF Ltd", 40, "USD"),
        ("c-8", 7, "USD"),
        ("shared", 300, "USD"),
        ("shared", 50, "EUR"),
    ]
    add_source(
        acme,
        [cost(day, amount, currency=currency, tags={"customer": value}) for value, amount, currency in lines],
    )
    CustomerKey.objects.create(account=acme, dimension="tag:customer")
    CustomerAlias.objects.create(account=acme, value="HF Ltd", customer_id="c-7")
    Customer.objects.create(account=acme, customer_id="c-7", name="Halden Freight")
    Customer.objects.create(account=acme, customer_id="c-8", name="Other")
    SharedCostSplit.objects.create(
        account=acme,
        name="Cluster",
        dimension="tag:customer",
        source_value="shared",
        method="even",
        targets=[{"value": "c-7", "percent": None}, {"value": "c-8", "percent": None}],
    )
    return acme


def spent_on(mcp_client: McpClient, dimension: str, *values: str, **more: Any) -> dict[str, Any]:
    filters = [{"dimension": dimension, "values": list(values)}]
    return mcp_client.ask("querySpend", **{**WEEK, "filters": filters, **more})


@pytest.mark.usefixtures("halden")
@pytest.mark.parametrize(
    ("dimension", "name"),
    [
        ("customer", "halden freight"),
        ("customer", "HF Ltd"),
        ("customer", "c-7"),
        ("tag:customer", "Halden Freight"),
    ],
)
def test_the_cost_of_a_customer_is_queried_by_name_and_names_the_effect_of_splits(
    writer: McpClient, dimension: str, name: str
) -> None:
    answer = spent_on(writer, dimension, name)
    after = spent_on(writer, dimension, name, splits="after")

    assert [(each["amount"], each["currency"]) for each in answer["totals"]] == [(100, "USD")]
    first = answer["summary"].split(". ")[0]
    assert "100.00 USD" in first
    assert "after shared-cost splits (splits: after) it is 250.00 USD and 25.00 EUR" in first
    assert [(each["amount"], each["currency"]) for each in after["totals"]] == [(250, "USD"), (25, "EUR")]
    assert "(splits: after)" not in after["summary"]


@pytest.mark.usefixtures("halden")
def test_cost_by_customer_needs_no_usage_and_has_names(writer: McpClient) -> None:
    answer = writer.ask("querySpend", **WEEK, group_by=["customer"])
    by_tag = writer.ask("querySpend", **WEEK, group_by=["tag:customer"])
    values = writer.ask("listDimensionValues", dimension="customer", search="halden")
    spelled = writer.ask("listDimensionValues", dimension="tag:customer", search="freight")
    without = writer.problem("queryUnitCost", mode="per_customer")
    part = writer.ask(
        "querySpend", **WEEK, filters=[{"dimension": "customer", "op": "contains", "values": ["alde"]}]
    )

    rows = {row["group"]["customer"]: row for row in answer["rows"] if row["currency"] == "USD"}
    assert {name: row["amount"] for name, row in rows.items()} == {"shared": 300, "c-7": 100, "c-8": 7}
    assert rows["c-7"]["labels"] == {"customer": "Halden Freight"}
    assert "'Halden Freight' (24.6 %)" in answer["summary"]
    assert {
        row["group"]["tag:customer"]: row["labels"]["tag:customer"]
        for row in by_tag["rows"]
        if "labels" in row
    } == {
        "c-7": "Halden Freight",
        "HF Ltd": "Halden Freight",
        "c-8": "Other",
    }
    assert [(each["value"], each["label"]) for each in values["values"]] == [("c-7", "Halden Freight")]
    assert sorted(each["value"] for each in spelled["values"]) == ["HF Ltd", "c-7"]
    assert "querySpend with group_by customer" in without
    assert part["totals"][0]["amount"] == 100


@pytest.mark.usefixtures("halden")
@pytest.mark.parametrize("dimension", ["customer", "tag:customer"])
def test_groups_name_what_splits_would_add_to_them(writer: McpClient, dimension: str) -> None:
    def first(**more: Any) -> str:
        summary: str = writer.ask("querySpend", **{**WEEK, "group_by": [dimension], **more})["summary"]
        return summary.split(". ")[0]

    added = (
        "; shared-cost splits (splits: after) would add 150.00 USD and 25.00 EUR to 'Halden Freight', "
        "150.00 USD and 25.00 EUR to 'Other"
    )
    assert added in first()
    assert added in first(granularity="day", compare_to="previous_period")
    assert "would add" not in first(splits="after")
    assert "would add" not in first(group_by=["service"])
    # A filter that chooses values says what its total is after splits, and no more.
    filtered = first(filters=[{"dimension": dimension, "values": ["c-7"]}])
    assert "after shared-cost splits (splits: after) it is" in filtered
    assert "would add" not in filtered


@pytest.mark.usefixtures("halden")
def test_a_value_that_no_cost_has_is_refused_with_the_nearest(writer: McpClient) -> None:
    def refusal(dimension: str, value: str) -> str:
        return writer.problem("querySpend", **WEEK, filters=[{"dimension": dimension, "values": [value]}])

    assert "no cost has 'tag:customer' 'c-77'. Nearest: 'c-7'" in refusal("tag:customer", "c-77")
    assert "no cost has customer 'Halden Frieght'" in refusal("customer", "Halden Frieght")
    assert "no cost has currency 'GBP'. These days have: 'EUR', 'USD'" in refusal("currency", "GBP")
    other_days = writer.ask(
        "querySpend",
        start_date="2026-03-17",
        end_date="2026-03-17",
        filters=[{"dimension": "tag:customer", "values": ["c-7"]}],
    )
    assert other_days["totals"] == []
    some = spent_on(writer, "tag:customer", "c-8", "c-9")
    assert (some["totals"][0]["amount"], len(some["warnings"]) > 0) == (7, True)

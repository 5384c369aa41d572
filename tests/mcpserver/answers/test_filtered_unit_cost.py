"""Unit cost under filters of cost and of usage: each case misled an assistant once; on a small made-up account, its figures added up by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Account
from finops.lib import clock
from finops.unitcosts.models import CustomerAlias, CustomerKey
from finops.unitcosts.services.customer_mappings import map_usage_dimension
from ingestion.models import Customer
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event
from tests.mcpserver.answers.questions import WEEK
from tests.mcpserver.mcp_client import McpClient


@pytest.fixture
def regions(acme: Account) -> Account:
    """1,000 USD in the EU and 3,000 in the US for 10 and 90 requests; customers globex (also as Globex Inc) and acme."""
    day = clock.today() - timedelta(days=2)
    add_source(
        acme,
        [
            cost(
                day,
                700,
                region="eu",
                service="Compute",
                tags={"customer": "globex", "market": "eu", "zone": "west"},
            ),
            cost(
                day,
                300,
                region="eu",
                service="Disk",
                tags={"customer": "Globex Inc", "market": "eu", "zone": "west"},
            ),
            cost(
                day,
                3000,
                region="us",
                service="Compute",
                tags={"customer": "acme", "market": "us", "zone": "east"},
            ),
        ],
    )
    used = [("globex", 10, "eu"), ("acme", 90, "us")]
    events = [
        event(day, customer, quantity, position=at, dimensions={"region": region})
        for at, (customer, quantity, region) in enumerate(used)
    ]
    add_usage(acme, events)
    CustomerKey.objects.create(account=acme, dimension="tag:customer")
    Customer.objects.filter(customer_id="globex").update(name="Globex Corporation")
    CustomerAlias.objects.create(account=acme, value="Globex Inc", customer_id="globex")
    return acme


def unit_cost(mcp_client: McpClient, *filters: tuple[str, str], **more: Any) -> dict[str, Any]:
    filter_list = [{"dimension": name, "values": [value]} for name, value in filters]
    return mcp_client.ask(
        "queryUnitCost", **{"usage_metric": "requests", **WEEK, "filters": filter_list, **more}
    )


@pytest.mark.parametrize(
    ("name", "value", "cost_", "usage", "by"),
    [
        ("region", "EU", 1000, 10, "dimension:region"),
        ("tag:customer", "acme", 3000, 90, "customer"),
        ("tag:market", "us", 3000, 90, "dimension:region"),
    ],
)
def test_a_filter_that_usage_has_too_divides_by_the_usage_that_it_holds(
    regions: Account, cast: Cast, writer: McpClient, name: str, value: str, cost_: int, usage: int, by: str
) -> None:
    mapped = {"cost_dimension": "tag:market", "usage_dimension": "region"}
    map_usage_dimension(account=regions, actor=cast.actor, **mapped)

    answer = unit_cost(writer, (name, value))

    (total,) = answer["totals"]
    assert (total["cost"], total["usage"]) == (cost_, usage)
    assert total["unit_cost"] == pytest.approx(cost_ / usage, abs=1e-6)
    assert [each["dimension"] for each in answer["usage_filters_applied"]] == [by]
    assert answer["unfiltered_dimensions"] == []
    assert f"usage filtered by {by.removeprefix('dimension:')}" in answer["summary"].split(". ")[0]


@pytest.mark.usefixtures("regions")
def test_a_filter_that_usage_lacks_is_said_in_the_first_sentence(writer: McpClient) -> None:
    unfiltered_usage = unit_cost(writer, ("service", "Compute"))
    both = unit_cost(writer, ("service", "Disk"), ("region", "eu"))

    assert unfiltered_usage["totals"][0]["unit_cost"] == 37
    assert unfiltered_usage["unfiltered_dimensions"] == ["service"]
    assert (
        "only cost is filtered by service; usage is all of 'requests'"
        in unfiltered_usage["summary"].split(": ")[0]
    )
    assert both["totals"][0]["unit_cost"] == 30
    assert "usage filtered by region, not by service as the cost is" in both["summary"].split(": ")[0]


@pytest.mark.usefixtures("regions")
def test_usage_is_filtered_by_itself_and_a_key_that_no_event_has_is_refused(
    cast: Cast, writer: McpClient
) -> None:
    eu = [{"dimension": "region", "values": ["eu"]}]
    answer = unit_cost(writer, usage_filters=eu)
    nobody = unit_cost(writer, usage_filters=[{"dimension": "customer", "values": ["Globex Corporation"]}])
    none = unit_cost(writer, usage_filters=[{"dimension": "region", "values": ["mars"]}])
    refusal = writer.problem(
        "queryUnitCost", usage_metric="requests", usage_filters=[{"dimension": "regoin", "values": ["eu"]}]
    )

    assert answer["totals"][0]["unit_cost"] == 400
    assert "u0=region" in answer["console_url"]
    assert nobody["totals"][0]["usage"] == 10
    assert none["totals"][0]["unit_cost"] is None
    assert "No usage events on these days have region 'mars'" in none["summary"]
    assert "usage_filters: 'regoin' does not exist. Nearest: 'region'" in refusal
    page = signed_in(cast.viewer).get(answer["console_url"].removeprefix("http://127.0.0.1:8000"))
    assert "usage filtered by region" in page.content.decode()
    assert 'name="u0v"' in page.content.decode()


def test_values_that_usage_does_not_have_give_no_unit_cost_but_the_reason(
    regions: Account, cast: Cast, writer: McpClient
) -> None:
    page = signed_in(cast.member)
    page.post(
        "/a/acme/settings/customers/usage-dimensions/",
        {"cost_dimension": "tag:zone", "usage_dimension": "region"},
    )

    answer = unit_cost(writer, ("tag:zone", "east"))
    no_value_answer = unit_cost(
        writer, ("tag:zone", "east"), usage_filters=[{"dimension": "region", "values": ["US"]}]
    )

    assert answer["totals"][0]["unit_cost"] is None
    assert "no usage of 'requests' on these days has that region; it has eu and us" in answer["summary"]
    assert (no_value_answer["totals"][0]["cost"], no_value_answer["totals"][0]["usage"]) == (3000, 90)
    assert no_value_answer["unfiltered_dimensions"] == []
    assert "tag:zone" in page.get("/a/acme/settings/customers/").content.decode()

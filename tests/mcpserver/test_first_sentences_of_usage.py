"""First sentences of usage: customers and dimensions that the account does not have, and several units."""

from __future__ import annotations

from accounts.models import Account
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient

OF_MARCH = {"period": "month_to_date"}


def add_march(account: Account) -> None:
    """An event of 5 requests and 10 USD a day from 1 to 19 March."""
    add_source(account, [cost(day, 10) for day in MARCH_TO_DATE])
    add_usage(account, [event(day, "globex", 5) for day in MARCH_TO_DATE])


def test_customers_that_the_account_does_not_have_stand_in_the_first_sentence_of_usage(
    acme: Account, mcp_client: McpClient
) -> None:
    add_march(acme)

    def of(*customers: str) -> str:
        return summary_of(mcp_client, "queryUsage", **OF_MARCH, customers=list(customers))

    assert "95 in total; no customer with the ID or name 'globx'." in of("globex", "globx")
    assert "has no matching events of 'requests'" in of("globx")
    assert "; no customer with the ID or name 'globx'" in of("globx")
    assert of("globex", "a1", "a2", "a3", "a4", "a5").endswith(
        "'a3'; 2 more requested customers do not exist."
    )
    assert "no customer" not in of("globex")
    in_filter = [{"dimension": "customer", "values": ["globex", "globx"]}]
    assert "; no customer with the ID or name 'globx'" in summary_of(
        mcp_client, "queryUsage", filters=in_filter
    )


def test_customers_that_the_account_does_not_have_stand_in_the_first_sentence_of_a_unit_cost(
    acme: Account, mcp_client: McpClient
) -> None:
    add_march(acme)

    def of(*customers: str) -> str:
        usage_filters = [{"dimension": "customer", "values": list(customers)}]
        arguments = {**OF_MARCH, "usage_metric": "requests", "usage_filters": usage_filters}
        return summary_of(mcp_client, "queryUnitCost", **arguments)

    assert "; no customer with the ID or name 'globx'" in of("globex", "globx")
    assert "no customer" not in of("globex")


def test_a_group_that_no_event_has_stands_in_the_first_sentence_of_usage(
    acme: Account, mcp_client: McpClient
) -> None:
    """'Most of it: (none)' alone reads as if senders had left it out of some events."""
    add_march(acme)

    sentence = summary_of(mcp_client, "queryUsage", **OF_MARCH, group_by="dimension:plan")

    assert "95 in total; none of these events has dimension 'plan'" in sentence
    assert "none of these" not in summary_of(mcp_client, "queryUsage", group_by="customer")


def test_usage_of_several_units_says_so_first(acme: Account, mcp_client: McpClient) -> None:
    """A sum of calls and thousands of calls is no number of calls."""
    every = [event(day, "globex", 5, unit="call") for day in MARCH_TO_DATE]
    add_usage(acme, [*every, event(MARCH_TO_DATE[0], "initech", 1, unit="k calls")])
    add_source(acme, [cost(day, 10) for day in MARCH_TO_DATE])
    clause = "; added without conversion: units 'call' and 'k calls'"

    assert f": 96 in total{clause}" in summary_of(mcp_client, "queryUsage", **OF_MARCH)
    assert clause in summary_of(mcp_client, "queryUnitCost", usage_metric="requests", **OF_MARCH)
    one_customer = summary_of(mcp_client, "queryUsage", **OF_MARCH, customers=["globex"])
    assert "without conversion" not in one_customer


def test_a_unit_cost_of_several_currencies_says_that_each_is_divided_by_all_usage(
    acme: Account, mcp_client: McpClient
) -> None:
    """One of the two unit costs alone is less than a request costs."""
    add_march(acme)
    arguments = {**OF_MARCH, "usage_metric": "requests"}
    clause = "; the cost of each currency is divided by all usage"

    assert clause not in summary_of(mcp_client, "queryUnitCost", **arguments)
    add_source(acme, [cost(day, 5, currency="EUR") for day in MARCH_TO_DATE], name="Euros")
    assert clause in summary_of(mcp_client, "queryUnitCost", **arguments)

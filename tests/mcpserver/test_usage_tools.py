"""queryUsage, listUsageEvents and the usage of getAccountContext, called over MCP with a key."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from ingestion.models import Customer
from ingestion.usage_query import UsageQuery
from mcpserver.registry import registry
from tests.cast import Cast
from tests.factories.usage import add_usage, event, push_events
from tests.mcpserver.mcp_client import McpClient

DAYS, CUSTOMERS = 60, 60


@pytest.fixture
def usage_account(cast: Cast) -> Account:
    """Two months of requests of sixty customers with long names, and their seats."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(DAYS)]
    events = [
        event(day, f"customer-{number:03}", f"{number}.123456789", unit="call", dimensions={"Region": "eu"})
        for day in days
        for number in range(CUSTOMERS)
    ]
    seats = [event(days[-1], f"customer-{number:03}", number, metric="seats") for number in range(CUSTOMERS)]
    rows = [replace(each, position=place) for place, each in enumerate([*events, *seats])]
    with account_scope(cast.account):
        add_usage(cast.account, rows, seats="last")
        for row in Customer.objects.all():
            row.name = f"{row.customer_id} of a name that is quite long, as names of companies are"
            row.save()
    return cast.account


@pytest.mark.parametrize("metric", ["requests", "seats"])
@pytest.mark.parametrize("granularity", ["none", "day", "month"])
@pytest.mark.usefixtures("usage_account")
def test_an_answer_fits_and_its_rows_still_add_up(
    mcp_client: McpClient, metric: str, granularity: str
) -> None:
    answer = mcp_client.ask(
        "queryUsage",
        usage_metric=metric,
        period="last_90_days",
        granularity=granularity,
        group_by="customer",
        limit=50,
    )

    added = sum(row["quantity"] for row in answer["rows"])
    assert added == pytest.approx(answer["quantity"], abs=0.001)
    assert sum(row.get("other_groups", 1) for row in answer["rows"]) == CUSTOMERS
    assert "in the row other" in answer["truncated"]
    assert ("25 KB" in answer["truncated"]) == (granularity == "day")


@pytest.mark.parametrize(("unit", "currency"), [("EUR", "EUR"), ("usd", "USD"), ("€", "EUR"), ("ZMW", "ZMW")])
def test_a_quantity_whose_unit_is_a_currency_has_it_beside_itself(
    mcp_client: McpClient, cast: Cast, unit: str, currency: str
) -> None:
    today = datetime.now(UTC).date()
    events = [
        event(today - timedelta(days=back), "acme", "12.5", metric="revenue", unit=unit)
        for back in (1, 2, 10)
    ]
    rows = [replace(each, position=place) for place, each in enumerate(events)]
    with account_scope(cast.account):
        add_usage(cast.account, rows)

    answer = mcp_client.ask(
        "queryUsage",
        usage_metric="revenue",
        period="last_7_days",
        group_by="customer",
        compare_to="previous_period",
    )
    listing = mcp_client.ask("listUsageEvents", usage_metric="revenue")

    money = [answer, answer["change"], *answer["rows"], answer["rows"][0]["change"], *listing["events"]]
    assert {each["currency"] for each in money} == {currency}
    assert answer["quantity"] == 25


@pytest.mark.usefixtures("usage_account")
def test_a_quantity_of_another_unit_has_no_currency(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("queryUsage", usage_metric="requests", group_by="customer")
    (event_row,) = mcp_client.ask("listUsageEvents", limit=1)["events"]

    assert not any("currency" in each for each in (answer, *answer["rows"], event_row))


@pytest.mark.usefixtures("usage_account")
def test_the_console_url_is_the_page_with_the_same_question(mcp_client: McpClient) -> None:
    arguments = {
        "usage_metric": "requests",
        "period": "last_month",
        "granularity": "week",
        "group_by": ["dimension:Region"],
        "customers": ["customer-001", "c & d/ü"],
        "filters": [{"dimension": "Region", "values": ["eu", "(none)"]}],
        "limit": 5,
    }

    url = urlsplit(mcp_client.ask("queryUsage", **arguments)["console_url"])

    assert url.path == "/a/acme/usage/"
    assert UsageQuery.from_params(parse_qs(url.query)) == msgspec.convert(arguments, UsageQuery)


@pytest.mark.usefixtures("usage_account")
def test_filters_too_long_for_a_link_are_left_out_of_it(mcp_client: McpClient) -> None:
    values = [f"value {number:04}" for number in range(500)]
    answer = mcp_client.ask("queryUsage", filters=[{"dimension": "Region", "values": values}])
    assert urlsplit(answer["console_url"]).query == ""
    assert any("too long for a link" in warning for warning in answer["warnings"])


@pytest.mark.usefixtures("usage_account")
def test_arguments_are_accepted_leniently(mcp_client: McpClient) -> None:
    answer = mcp_client.ask(
        "queryUsage",
        usage_metric="Requests",
        period="Last 7 days",
        group_by="Customers",
        customers="customer-007",
        limit="3",
    )
    assert (answer["metric"], answer["group_by"]) == ("requests", "customer")
    assert [row["value"] for row in answer["rows"]] == ["customer-007"]
    assert answer["quantity"] == pytest.approx(7 * 7.123456789, abs=0.000001)


@pytest.mark.usefixtures("usage_account")
def test_an_unknown_metric_names_the_nearest(mcp_client: McpClient) -> None:
    problem = mcp_client.problem("queryUsage", usage_metric="seat")
    assert problem == "usage_metric: 'seat' does not exist. Nearest: 'seats'. Use getAccountContext."


@pytest.mark.usefixtures("usage_account")
def test_a_misspelt_customer_names_the_nearest(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("queryUsage", customers=["custmer-007"])
    assert answer["quantity"] is None
    assert any("'custmer-007'. Nearest: 'customer-007'" in warning for warning in answer["warnings"])


@pytest.mark.usefixtures("usage_account")
def test_events_are_read_to_the_end_page_by_page(mcp_client: McpClient) -> None:
    read: list[tuple[str, str]] = []
    cursor, pages = "", 0
    while pages == 0 or cursor:
        page = mcp_client.ask("listUsageEvents", period="last_7_days", limit=200, cursor=cursor)
        if cursor == "":
            event_count = len(page["events"])
            assert event_count < 200
            assert f"{event_count} usage events from" in page["summary"]
            assert page["truncated"].startswith(
                f"{event_count} of 200 requested: answers are limited to 25 KB. "
            )
        read += [(each["event_time"], each["customer_id"]) for each in page["events"]]
        cursor, pages = page["cursor"], pages + 1
    assert len(read) == len(set(read)) == 7 * CUSTOMERS
    assert read == sorted(read, key=lambda pair: pair[0], reverse=True)


@pytest.mark.usefixtures("usage_account")
def test_an_event_says_what_was_pushed_to_the_last_digit(mcp_client: McpClient) -> None:
    (shown_event,) = mcp_client.ask(
        "listUsageEvents", customers="customer-007", usage_metric="requests", limit=1
    )["events"]
    assert (shown_event["quantity"], shown_event["exact_quantity"]) == (7.123457, "7.123456789")
    assert (shown_event["source"], shown_event["unit"], shown_event["dimensions"]) == (
        "Backend",
        "call",
        {"Region": "eu"},
    )


@pytest.mark.usefixtures("usage_account")
def test_a_cursor_of_another_account_or_question_is_refused(mcp_client: McpClient, cast: Cast) -> None:
    cursor = mcp_client.ask("listUsageEvents", limit=1)["cursor"]

    assert "cursor does not belong to these arguments. Remove it to start again." in mcp_client.problem(
        "listUsageEvents", usage_metric="seats", cursor=cursor
    )
    with account_scope(cast.other_account):
        push_events(cast.other_account, [event(date(2026, 1, 1), "theirs", 1)])
    other_client = McpClient(_key_of_the_other(cast))
    assert "cursor does not belong to these arguments. Remove it to start again." in other_client.problem(
        "listUsageEvents", cursor=cursor
    )
    assert [each["customer_id"] for each in other_client.ask("listUsageEvents")["events"]] == ["theirs"]


@pytest.mark.parametrize(
    ("batch", "position"),
    [("\0", "1"), ("x", "1"), ("'; drop table", "1"), (None, "99999999999"), (None, "-1"), (None, "x")],
)
@pytest.mark.usefixtures("usage_account")
def test_a_forged_cursor_is_refused(mcp_client: McpClient, batch: str | None, position: str) -> None:
    cursor = mcp_client.ask("listUsageEvents", limit=1)["cursor"]
    key, mark = msgspec.json.decode(base64.urlsafe_b64decode(f"{cursor}==="))
    forged = msgspec.json.encode([[*key[:2], batch or key[2], position], mark])

    forged_cursor = base64.urlsafe_b64encode(forged).decode().rstrip("=")
    assert "cursor does not belong to these arguments. Remove it to start again." in mcp_client.problem(
        "listUsageEvents", limit=1, cursor=forged_cursor
    )


def _key_of_the_other(cast: Cast) -> str:
    from accounts.keys import mint_mcp_key

    _key, plaintext = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="theirs")
    return plaintext


def test_before_any_push_both_tools_say_how_to_push(mcp_client: McpClient) -> None:
    usage = mcp_client.ask("queryUsage", usage_metric="requests", period="last_month")
    assert (usage["quantity"], usage["rows"]) == (None, [])
    listing = mcp_client.ask("listUsageEvents")
    for answer in (usage, listing):
        assert (
            "Create a usage source and its API key on the Connections page, and POST events "
            "to /api/usage/events. The source's page shows the request."
        ) in answer["hint"]


@pytest.mark.usefixtures("usage_account")
def test_the_context_lists_metrics_and_dimensions(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("getAccountContext")
    today = datetime.now(UTC).date()
    first = (today - timedelta(days=DAYS - 1)).isoformat()
    assert answer["usage_metrics"] == [
        {
            "name": "requests",
            "aggregation": "sum",
            "units": ["call"],
            "first_day": first,
            "last_day": str(today),
        },
        {"name": "seats", "aggregation": "last", "units": [], "first_day": first, "last_day": first},
    ]
    assert answer["usage_dimensions"] == ["Region"]


@pytest.mark.parametrize("name", ["queryUsage", "listUsageEvents"])
def test_the_definition_is_small(name: str) -> None:
    tool = registry.get(name)
    assert tool is not None
    shape = {"description": tool.description, "input": tool.input_schema}
    assert len(msgspec.json.encode(shape)) <= 3_000


def test_more_usage_asks_no_more_queries(mcp_client: McpClient, cast: Cast, usage_account: Account) -> None:
    arguments = {
        "group_by": "customer",
        "granularity": "day",
        "usage_metric": "requests",
        "period": "last_30_days",
    }
    mcp_client.ask("queryUsage", **arguments)
    counts = []
    for _again in range(2):
        with CaptureQueriesContext(connection) as queries:
            mcp_client.ask("queryUsage", **arguments, limit=1)
        counts.append(len(queries))
        with account_scope(usage_account):
            push_events(usage_account, [event(datetime.now(UTC), f"new-{number}", 1) for number in range(20)])
    assert counts[0] == counts[1]

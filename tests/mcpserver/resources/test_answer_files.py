"""The CSV of all rows behind a shortened answer: the same query again, for the same credential."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account
from finops.activity.models import CallMethod
from finops.cost_access.creations import limit_key
from finops.cost_access.services import create_limit
from finops.costs.spend_query import CostFilter
from finops.exchange_rates.services import enter_rate
from finops.lib import clock
from mcpserver import answer_links
from mcpserver.resources import answer_files
from tests.cast import ACTOR, Cast, signed_in
from tests.conformance import schemas
from tests.factories.costs import add_source, cost
from tests.factories.unit_costs import MARCH, add_data, cost_line, usage_event
from tests.finops.activity.call_helpers import stored_calls
from tests.mcpserver.mcp_client import McpClient, mint

EXACT = Decimal("0.123456789012345678")
BY_SERVICE = {**{name: str(day) for name, day in MARCH.items()}, "group_by": ["service"]}
HALVES = {"start_date": "2026-03-06", "end_date": "2026-03-10"}
SERVICES = {
    "Compute": "30.5",
    "Storage": "20",
    "=HYPERLINK(1)": "10",
    "Queue\u202e": "5",
    "Database": str(EXACT),
}


@pytest.fixture
def acme(acme: Account) -> Account:
    lines = [
        cost_line(number, amount, f"c{number}", service=name, account_id="111" if number % 2 else "222")
        for number, (name, amount) in enumerate(SERVICES.items(), 1)
    ]
    add_data(acme, lines, [usage_event(number, f"c{number}", number * 10) for number in range(1, 6)])
    return acme


def link(result: Mapping[str, Any]) -> dict[str, Any]:
    _, item = result["content"]
    assert item["type"] == "resource_link"
    return dict(item)


def uri_of(mcp_client: McpClient, tool: str, /, **arguments: Any) -> str:
    return str(link(mcp_client.call(tool, **arguments))["uri"])


def read(mcp_client: McpClient, uri: str, revision: str = schemas.MODERN) -> str:
    (content,) = mcp_client.result("resources/read", {"uri": uri}, revision=revision)["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/csv")
    return str(content["text"])


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def amounts(text: str) -> dict[str, Decimal]:
    return {row["service"]: Decimal(row["amount"]) for row in rows(text)}


@pytest.mark.parametrize("revision", [each for each in schemas.REVISIONS if each != "2025-03-26"])
def test_an_answer_without_all_rows_links_to_every_row(
    mcp_client: McpClient, acme: Account, revision: str
) -> None:
    params = {"name": "querySpend", "arguments": {**BY_SERVICE, "limit": 2}}

    item = link(mcp_client.result("tools/call", params, revision=revision))

    assert (item["name"], item["mimeType"]) == ("querySpend.csv", "text/csv")
    assert amounts(read(mcp_client, item["uri"], revision)) == {
        "Compute": Decimal("30.5"),
        "Storage": Decimal(20),
        "'=HYPERLINK(1)": Decimal(10),
        "Queue\\u202e": Decimal(5),
        "Database": EXACT,
        "(none)": Decimal(0),
    }


def test_the_oldest_revision_has_no_links(mcp_client: McpClient, acme: Account) -> None:
    params = {"name": "querySpend", "arguments": {**BY_SERVICE, "limit": 2}}

    assert len(mcp_client.result("tools/call", params, revision="2025-03-26")["content"]) == 1


@pytest.mark.parametrize("arguments", [BY_SERVICE, {**BY_SERVICE, "group_by": []}])
def test_an_answer_with_all_rows_has_no_link(
    mcp_client: McpClient, acme: Account, arguments: dict[str, Any]
) -> None:
    assert len(mcp_client.call("querySpend", **arguments)["content"]) == 1


@pytest.mark.parametrize(
    ("tool", "page", "arguments"),
    [
        ("querySpend", "cost-explorer", {"group_by": ["service", "account"], "granularity": "day"}),
        ("querySpend", "cost-explorer", {"group_by": ["service"], "compare_to": "previous_period"}),
        ("querySpend", "cost-explorer", {"group_by": ["service"], "display_currency": "EUR"}),
        ("explainSpendChange", "spend-change", {**HALVES, "group_by": ["service"]}),
        (
            "explainSpendChange",
            "spend-change",
            {**HALVES, "group_by": ["service", "account"], "display_currency": "EUR"},
        ),
        ("queryUsage", "usage", {"usage_metric": "requests", "group_by": "customer", "granularity": "week"}),
        ("queryUnitCost", "unit-economics", {"usage_metric": "requests", "mode": "per_customer"}),
        (
            "queryUnitCost",
            "unit-economics",
            {"usage_metric": "requests", "mode": "per_customer", "display_currency": "EUR"},
        ),
    ],
)
def test_the_rows_are_those_of_the_page(
    mcp_client: McpClient, acme: Account, cast: Cast, tool: str, page: str, arguments: dict[str, Any]
) -> None:
    enter_rate(account=acme, actor=ACTOR, day=date(2026, 3, 1), base="USD", quote="EUR", rate=Decimal("0.8"))
    days = {name: str(day) for name, day in MARCH.items()}
    params = {**days, **arguments, "format": "csv"}
    if currency := params.pop("display_currency", ""):
        params["currency"] = currency

    text = read(mcp_client, uri_of(mcp_client, tool, **{**days, **arguments, "limit": 1}))

    response = signed_in(cast.member).get(f"/a/{acme.slug}/{page}/", params)
    expected = b"".join(response.streaming_content).decode().replace("\u202e", "\\u202e")  # type: ignore[attr-defined]
    assert text == expected
    assert len(rows(text)) > 2


def test_relative_days_are_those_of_the_answer(mcp_client: McpClient, acme: Account) -> None:
    with clock.frozen(datetime(2026, 3, 3, 12, tzinfo=UTC)):
        uri = uri_of(mcp_client, "querySpend", period="last_7_days", group_by=["service"], limit=1)

    with clock.frozen(datetime(2026, 3, 9, 12, tzinfo=UTC)):
        assert set(amounts(read(mcp_client, uri))) == {"Compute", "Storage"}


def test_the_figures_are_those_of_the_bills_when_it_is_read(mcp_client: McpClient, acme: Account) -> None:
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=2)

    add_source(acme, [cost(date(2026, 3, 5), "7", service="Storage", currency="USD")], name="Another bill")

    assert amounts(read(mcp_client, uri))["Storage"] == 27


@pytest.mark.parametrize("revision", schemas.REVISIONS)
def test_another_credential_finds_nothing(
    mcp_client: McpClient, acme: Account, cast: Cast, revision: str
) -> None:
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=2)
    _key, plaintext = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="stranger")

    for other in (McpClient(mint(cast)), McpClient(plaintext)):
        error = other.error("resources/read", {"uri": uri}, revision=revision)
        assert error["code"] == (-32602 if revision == schemas.MODERN else -32002)
        assert error["message"].startswith("Resource not found.")


def test_a_changed_link_is_not_found(mcp_client: McpClient, acme: Account) -> None:
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=2)

    for changed in (
        uri.removesuffix(".csv"),
        uri.replace(".csv", "x.csv"),
        answer_links.PREFIX,
        f"{uri}?a=1",
    ):
        assert mcp_client.error("resources/read", {"uri": changed})["message"].startswith(
            "Resource not found."
        )


def test_a_link_ends_after_a_day(
    mcp_client: McpClient, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=2)
    monkeypatch.setattr(answer_links, "SECONDS", -1)

    error = mcp_client.error("resources/read", {"uri": uri})

    assert error["message"] == "Resource not found. The link is older than 24 hours. Ask the question again."


def test_a_csv_that_is_too_large_is_refused(
    mcp_client: McpClient, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=2)
    monkeypatch.setattr(answer_files, "MAX_FILE_BYTES", 100)

    error = mcp_client.error("resources/read", {"uri": uri})

    assert error["code"] == -32602
    assert error["message"].startswith("The CSV has more than ")
    assert error["message"].endswith("Use fewer days, a filter, or a coarser granularity, and ask again.")


def test_the_limit_of_the_credential_counts_as_it_is_when_it_is_read(acme: Account, cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=acme, actor=cast.actor, name="soon limited")
    mcp_client = McpClient(plaintext)
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=1)
    admin = Actor.of_user(cast.owner)
    limit = create_limit(
        account=acme,
        actor=admin,
        name="One account",
        alternatives=[[CostFilter(dimension="account", values=["111"])]],
    )
    limit_key(key=key, limit=limit, actor=admin)

    first, lines = read(mcp_client, uri).split("\r\n", 1)

    assert first == "Cost access is limited to One account."
    assert set(amounts(lines)) == {"Compute", "'=HYPERLINK(1)", "Database"}


def test_a_question_with_a_secret_gets_no_link(mcp_client: McpClient, acme: Account) -> None:
    secret = {"dimension": "service", "op": "not_in", "values": ["sk-live-abcdefghijklmnopqrstuvwxyz"]}

    assert len(mcp_client.call("querySpend", **BY_SERVICE, limit=1, filters=[secret])["content"]) == 1


def test_a_question_that_is_too_long_for_a_link_gets_none(mcp_client: McpClient, acme: Account) -> None:
    values = [f"{number * 7919 % 104729}-{number * 15485863 % 1299709}" for number in range(400)]
    long = {"dimension": "service", "op": "not_in", "values": values}

    assert len(mcp_client.call("querySpend", **BY_SERVICE, limit=1, filters=[long])["content"]) == 1


def test_a_reading_is_in_the_activity_log(mcp_client: McpClient, acme: Account) -> None:
    uri = uri_of(mcp_client, "querySpend", **BY_SERVICE, limit=2)

    read(mcp_client, uri)

    assert (CallMethod.RESOURCE, "querySpend.csv") in {
        (each.method, each.name) for each in stored_calls(acme)
    }

"""compareBillVersions and simulateCost, called over MCP."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import pytest

from accounts.keys import mint_mcp_key
from accounts.models import Account
from accounts.scoping import account_scope
from mcpserver.tools import bill_versions
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost, store_lines
from tests.mcpserver.mcp_client import McpClient, mint

MAY = date(2026, 5, 1)


@pytest.fixture
def restated_account(cast: Cast) -> Iterator[Account]:
    """May, whose storage was restated from 5 to 6."""
    with account_scope(cast.account):
        source = add_source(cast.account, [cost(MAY, 10, service="Compute"), cost(MAY, 5, service="Storage")])
        store_lines(cast.account, source, [cost(MAY, 10, service="Compute"), cost(MAY, 6, service="Storage")])
        yield cast.account


@pytest.fixture
def acme_lines(cast: Cast) -> Iterator[Account]:
    """May, of which four services were restated."""
    names = ("Compute", "Storage", "Queue", "Database")
    with account_scope(cast.account):
        before = [cost(MAY, number, service=name) for number, name in enumerate(names, 1)]
        source = add_source(cast.account, before)
        after = [cost(MAY, 10 * number + 1, service=name) for number, name in enumerate(names, 1)]
        store_lines(cast.account, source, after)
        yield cast.account


def test_the_changes_of_an_import_are_answered_in_one_call(cast: Cast, restated_account: Account) -> None:
    answer = McpClient(mint(cast)).ask("compareBillVersions")

    assert answer["month"] == "2026-05"
    assert [(each["service"], each["billed_after"]) for each in answer["lines"]] == [("Storage", 6)]
    assert answer["totals"][0]["billed_change"] == 1


def test_an_answer_without_all_lines_links_to_every_line(cast: Cast, acme_lines: Account) -> None:
    mcp_client = McpClient(mint(cast))

    result = mcp_client.call("compareBillVersions", month="2026-05", limit=2)

    answer, (_text, link) = result["structuredContent"], result["content"]
    assert answer["truncated"] == "Only the 2 largest changes are listed."
    (content,) = mcp_client.result("resources/read", {"uri": link["uri"]})["contents"]
    lines = list(csv.DictReader(io.StringIO(content["text"])))
    every = mcp_client.ask("compareBillVersions", month="2026-05", limit=50)["lines"]
    assert [(row["service"], Decimal(row["billed after"])) for row in lines] == [
        (line["service"], Decimal(str(line["billed_after"]))) for line in every
    ]
    assert len(lines) == 4
    page = signed_in(cast.member).get(
        "/a/acme/connections/bill-versions/", {"month": "2026-05", "format": "csv"}
    )
    assert content["text"].encode() == b"".join(page.streaming_content)  # type: ignore[attr-defined]
    other = McpClient(mint_mcp_key(account=cast.account, actor=cast.actor, name="other", scope="read")[1])
    assert other.error("resources/read", {"uri": link["uri"]})["message"].startswith("Resource not found.")


def test_an_answer_with_all_lines_has_no_link(cast: Cast, acme_lines: Account) -> None:
    result = McpClient(mint(cast)).call("compareBillVersions", month="2026-05", limit=4)

    assert (result["structuredContent"].get("truncated", ""), len(result["content"])) == ("", 1)


def test_more_lines_than_a_csv_has_are_refused(
    cast: Cast, acme_lines: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp_client = McpClient(mint(cast))
    link = mcp_client.call("compareBillVersions", month="2026-05", limit=1)["content"][1]
    monkeypatch.setattr(bill_versions, "MOST_LINES", 3)

    assert "More than 3 lines changed." in mcp_client.error("resources/read", {"uri": link["uri"]})["message"]


def test_a_stranger_sees_no_version_of_it(cast: Cast, restated_account: Account) -> None:
    _row, key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="theirs", scope="read")

    assert McpClient(key).ask("compareBillVersions", month="2026-05")["lines"] == []


def test_growth_of_a_service_is_simulated_on_real_lines(cast: Cast, restated_account: Account) -> None:
    answer = McpClient(mint(cast)).ask(
        "simulateCost",
        start_date="2026-05-01",
        end_date="2026-05-31",
        growth=[{"percent": 50, "dimension": "service", "values": ["Storage"]}],
    )

    assert (answer["totals"][0]["baseline"], answer["totals"][0]["simulated"]) == (16, 19)
    assert "19.00 USD instead of 16.00 USD" in answer["summary"]

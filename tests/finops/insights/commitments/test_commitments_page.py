"""Commitments, as people see them and as assistants ask."""

from __future__ import annotations

import pytest

from accounts.scoping import account_scope
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source
from tests.finops.insights.commitments.test_commitments import commitment_line, on_demand
from tests.mcpserver.mcp_client import McpClient, mint

URL = "/a/acme/commitments/"
JANUARY = {"start_date": "2026-01-01", "end_date": "2026-01-31"}


@pytest.fixture
def account_with_costs(cast: Cast) -> Cast:
    lines = [commitment_line("75", "Used"), commitment_line("25", "Unused"), on_demand("100")]
    lines.append(
        commitment_line("5", "Used", commitment_id="<b>ri</b>", commitment_name="", provider="Azure")
    )
    with account_scope(cast.account):
        add_source(cast.account, lines)
    return cast


def test_the_page_shows_utilization_coverage_and_waste(account_with_costs: Cast) -> None:
    page = signed_in(account_with_costs.viewer).get(URL, JANUARY).content.decode()

    assert "76.2%" in page  # 80 of 105
    assert "&lt;b&gt;ri&lt;/b&gt;" in page
    assert "<b>ri" not in page
    assert "25.00" in page


def test_an_account_without_cost_is_sent_to_its_connections(cast: Cast) -> None:
    page = signed_in(cast.viewer).get(URL).content.decode()

    assert "No cost yet" in page
    assert '<a class="btn btn-primary" href="/a/acme/connections/">' in page


def test_htmx_gets_the_result_alone(account_with_costs: Cast) -> None:
    answer = signed_in(account_with_costs.viewer).get(
        URL, {**JANUARY, "group_by": "type"}, headers={"hx-request": "true"}
    )

    assert "<html" not in answer.content.decode()
    assert "group_by=type" in answer.headers["HX-Push-Url"]


def test_the_csv_has_every_commitment(account_with_costs: Cast) -> None:
    answer = signed_in(account_with_costs.viewer).get(URL, {**JANUARY, "format": "csv"})

    lines = b"".join(answer).decode().strip().splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("sp-1,Savings Plan 1yr,Savings Plan,AWS,USD")


def test_a_bad_question_says_what_to_mend(account_with_costs: Cast) -> None:
    answer = signed_in(account_with_costs.viewer).get(URL, {"period": "last mont"})

    assert answer.status_code == 400
    assert "last_month" in answer.content.decode()


def test_the_tool_answers_as_the_page_does(account_with_costs: Cast) -> None:
    mcp_client = McpClient(mint(account_with_costs))
    content = mcp_client.ask("getCommitmentUtilization", **JANUARY, granularity="day")

    (total,) = content["totals"]
    assert (total["used_cost"], total["unused_cost"], total["currency"]) == (80, 25, "USD")
    assert len(total["buckets"]) == 31
    assert content["console_url"].endswith(
        "commitments/?start_date=2026-01-01&end_date=2026-01-31&granularity=day"
    )

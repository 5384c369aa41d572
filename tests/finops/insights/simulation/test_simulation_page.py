"""Cost simulation and Commitment purchase, as people see them and as assistants ask."""

from __future__ import annotations

import csv
import html
import json
import re
from datetime import date
from decimal import Decimal

import pytest

from accounts.scoping import account_scope
from finops.insights.simulation.page_query import prices_of
from finops.lib.errors import UserError
from finops.lib.periods import DateRange, each_day
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.finops.insights.commitments.test_commitments import commitment_line, on_demand
from tests.finops.insights.simulation.bills import DAY, hourly
from tests.mcpserver.mcp_client import McpClient, mint
from tests.pages import text_of

URL = "/a/acme/simulation/"
PLAN = "/a/acme/commitments/purchase/"
JANUARY = {"start_date": "2026-01-01", "end_date": "2026-01-31"}


@pytest.fixture
def bill(cast: Cast) -> Cast:
    with account_scope(cast.account):
        add_source(
            cast.account,
            [hourly(3, "10"), commitment_line("75", "Used"), cost(DAY, 7, service="<b>Mail</b>")],
        )
    return cast


def test_a_viewer_sees_what_each_assumption_changes(bill: Cast) -> None:
    question = {
        "growth_percent": "20",
        "growth_dimension": "service",
        "growth_value": "EC2",
        "commitments": "end",
    }

    page = text_of(signed_in(bill.viewer).get(URL, {**JANUARY, **question}))

    # 10 and 150 on demand grow by a fifth; the mail stays.
    assert re.search(r"199\.00\D* instead of \D*92\.00", page)
    assert "Commitments end" in page
    assert re.search(r"Usage of service .EC2. \+20", page)
    assert "Taxes, credits, fees, purchases and adjustments stay as billed" in page


def test_the_mcp_query_of_the_page_is_the_same_question(bill: Cast) -> None:
    question = {**JANUARY, "per_hour": "1", "discount_percent": "50", "purchase_currency": "USD"}
    page = signed_in(bill.viewer).get(URL, question).content.decode()
    match = re.search(r'id="mcp-arguments"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert match is not None

    answer = McpClient(mint(bill)).ask("simulateCost", **json.loads(html.unescape(match[1])))

    assert answer["totals"][0]["change"] == 24 - 2
    assert "114.00" in page
    assert text_of(signed_in(bill.viewer).get(answer["console_url"])) == text_of(
        signed_in(bill.viewer).get(URL, question)
    )


def test_the_csv_adds_up(bill: Cast) -> None:
    answer = signed_in(bill.viewer).get(URL, {**JANUARY, "growth_percent": "10", "format": "csv"})

    rows = list(csv.DictReader(b"".join(answer).decode().splitlines()))
    amounts = {row["kind"]: Decimal(row["amount"]) for row in rows if row["amount"]}
    assert amounts["baseline"] + amounts["effect"] == amounts["simulated"]
    assert [row["kind"] for row in rows].count("assumption") >= 4


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"region": "us-east-1"}, "Enter both regions"),
        ({"price_list": "BoxUsage, 0.08"}, "Price list, line 1"),
        ({"growth_percent": "-200"}, "percent is -100"),
        ({"growth_percent": "much"}, "growth_percent"),
    ],
)
def test_a_bad_question_says_what_to_mend(bill: Cast, question: dict[str, str], words: str) -> None:
    answer = signed_in(bill.viewer).get(URL, {**JANUARY, **question})

    assert answer.status_code == 400
    assert words in html.unescape(answer.content.decode())


def test_a_price_list_is_read_line_by_line() -> None:
    prices = prices_of('BoxUsage:m5.large, 0.08, USD\n\n"Requests, Tier 1",0.000005,eur\n')

    assert [(each.usage_type, each.unit_price, each.currency) for each in prices] == [
        ("BoxUsage:m5.large", Decimal("0.08"), "USD"),
        ("Requests, Tier 1", Decimal("0.000005"), "eur"),
    ]
    with pytest.raises(UserError, match="line 2"):
        prices_of("a, 1, USD\nb, x, USD")


def test_values_of_bills_are_text_on_the_page(bill: Cast) -> None:
    page = signed_in(bill.viewer).get(
        URL, {**JANUARY, "growth_percent": "5", "growth_dimension": "service", "growth_value": "<b>Mail</b>"}
    )

    assert "&lt;b&gt;Mail" in page.content.decode()
    assert "<b>Mail" not in page.content.decode()


def test_the_plan_shows_each_month_and_its_csv_has_them(cast: Cast) -> None:
    days = DateRange(date(2024, 11, 1), date(2025, 12, 31))
    with account_scope(cast.account):
        add_source(cast.account, [on_demand("96", charge_date=day) for day in each_day(days)])
    client = signed_in(cast.viewer)

    page = text_of(client.get(PLAN, {"discount_percent": "50"}))
    rows = list(
        csv.DictReader(
            b"".join(client.get(PLAN, {"discount_percent": "50", "format": "csv"})).decode().splitlines()
        )
    )

    assert "Recommended: 2 USD per hour more for AWS" in page
    assert "AWS rule, 30 days" in page
    assert "saved in 12 months" in page
    assert [row["month"] for row in rows] == [f"2025-{number:02}" for number in range(1, 13)]
    assert sum(Decimal(row["saving"]) for row in rows) == 365 * 24 * 2


def test_an_account_without_cost_gets_both_pages(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    assert "nothing to simulate" in text_of(client.get(URL))
    assert "nothing to plan" in text_of(client.get(PLAN))


@pytest.mark.parametrize("url", [URL, PLAN, "/a/acme/commitments/", "/a/acme/cost-explorer/"])
def test_without_cost_a_page_has_only_the_way_to_the_first_cost(cast: Cast, url: str) -> None:
    """Stylesheets hide the form above a card with the class no-cost."""
    page = signed_in(cast.owner).get(url).content.decode()

    assert 'class="card no-cost"' in page
    assert "Add connection" in page
    assert "View connections" in text_of(signed_in(cast.viewer).get(url))


@pytest.mark.parametrize("url", [URL, "/a/acme/commitments/", "/a/acme/cost-explorer/"])
def test_days_without_cost_keep_the_form(bill: Cast, url: str) -> None:
    page = signed_in(bill.owner).get(url, {"start_date": "2020-01-01", "end_date": "2020-01-31"})

    assert "no-cost" not in page.content.decode()

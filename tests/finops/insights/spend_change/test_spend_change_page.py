"""The page What changed."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.scoping import account_scope
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.pages import csv_rows

URL = "/a/acme/spend-change/"
MONTHS = {
    "start_date": "2026-02-01",
    "end_date": "2026-02-28",
    "previous_start_date": "2026-01-01",
    "previous_end_date": "2026-01-31",
}


@pytest.fixture
def account_with_costs(cast: Cast) -> Cast:
    days = [date(2026, 1, day) for day in range(1, 32)] + [date(2026, 2, day) for day in range(1, 29)]
    lines = [cost(day, 1, service="Steady", sku_id="steady") for day in days]
    for day, amount, hours in ((date(2026, 1, 5), "10", 5), (date(2026, 2, 5), "24.5", 10)):
        lines.append(
            cost(
                day,
                amount,
                service="<b>Compute</b>",
                sku_id="vm",
                usage_type="VM hours",
                consumed_quantity=Decimal(hours),
                consumed_unit="Hours",
            )
        )
    with account_scope(cast.account):
        add_source(cast.account, lines)
    return cast


def get(cast: Cast, query: dict[str, Any], **headers: str) -> Any:
    return signed_in(cast.viewer).get(URL, query, headers=headers)


def test_the_page_says_what_moved_and_why(account_with_costs: Cast) -> None:
    page = get(account_with_costs, MONTHS).content.decode()

    assert "&lt;b&gt;Compute&lt;/b&gt;" in page
    assert "<b>Compute" not in page
    assert "+$10.00" in page  # twice the hours at 2 USD
    assert "+$4.50" in page  # 10 hours, 45 cents more each
    assert 'VM hours: <span class="amount">+$14.50</span>, volume' in page


def test_the_waterfall_goes_from_the_earlier_amount_to_the_later(account_with_costs: Cast) -> None:
    page = get(account_with_costs, MONTHS).content.decode()

    match = re.search(r'data-chart="([^"]+waterfall[^"]+)"', page)
    assert match
    chart = json.loads(match[1].replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">"))
    assert chart["labels"] == ["Before", "<b>Compute</b>", "Steady", "After"]
    assert chart["steps"] == [[0.0, 41.0], [41.0, 55.5], [55.5, 52.5], [0.0, 52.5]]


def test_htmx_gets_the_result_alone_and_the_address(account_with_costs: Cast) -> None:
    answer = get(account_with_costs, MONTHS, hx_request="true")

    assert "<html" not in answer.content.decode()
    assert "previous_start_date=2026-01-01" in answer.headers["HX-Push-Url"]


def test_the_csv_has_every_move_with_its_effects(account_with_costs: Cast) -> None:
    answer = get(account_with_costs, {**MONTHS, "format": "csv"})

    rows = csv_rows(answer)
    names = ("change", "volume", "price", "unmeasured")
    assert [(row["service"], *(Decimal(row[name]) for name in names)) for row in rows] == [
        ("<b>Compute</b>", Decimal("14.5"), 10, Decimal("4.5"), 0),
        ("Steady", -3, 0, 0, -3),
    ]


def test_a_bad_question_is_answered_with_what_to_mend(account_with_costs: Cast) -> None:
    answer = get(account_with_costs, {**MONTHS, "group_by": "servic"})

    assert answer.status_code == 400
    assert "service" in answer.content.decode()


def test_an_account_without_cost_is_shown_where_to_begin(cast: Cast) -> None:
    page = get(cast, {}).content.decode()

    assert "No cost yet" in page
    assert "/a/acme/connections/" in page

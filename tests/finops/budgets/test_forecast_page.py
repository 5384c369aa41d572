"""The page Forecast, its CSV, and what the overview shows of it. Today is 20 March 2026."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from html import unescape
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.factories.budgets import add_lines, daily_cost
from tests.factories.costs import add_source
from tests.factories.days import NOON
from tests.pages import csv_rows, text_of

pytestmark = pytest.mark.django_db

URL = "/a/acme/forecast/"
FIRST, YESTERDAY = date(2025, 10, 1), date(2026, 3, 19)


@pytest.fixture
def account_with_costs(cast: Cast) -> Iterator[Cast]:
    with account_scope(cast.account):
        add_source(
            cast.account,
            add_lines(
                daily_cost(FIRST, YESTERDAY, 10, service="<b>Compute</b>"),
                daily_cost(FIRST, YESTERDAY, 5, service="Storage"),
                daily_cost(FIRST, YESTERDAY, 3, service="Servers", currency="EUR"),
            ),
        )
    with clock.frozen(NOON):
        yield cast


def get(cast: Cast, query: dict[str, Any] | None = None, url: str = URL, **headers: str) -> Any:
    return signed_in(cast.viewer).get(url, query or {}, headers=headers)


def test_the_page_says_what_the_month_will_cost_in_each_currency(account_with_costs: Cast) -> None:
    answer = get(account_with_costs)
    text = text_of(answer)

    assert "$465.00 80% range $464.10 to $465.90" in text
    assert "Spent so far $285.00" in text
    assert "€93.00" in text
    assert "<b>Compute</b>" in text
    assert "&lt;b&gt;Compute" in answer.content.decode()


def test_the_chart_joins_what_was_spent_and_what_is_expected(account_with_costs: Cast) -> None:
    page = get(account_with_costs).content.decode()
    charts = [json.loads(unescape(chart_text)) for chart_text in re.findall(r'data-chart="([^"]+)"', page)]

    chart = next(each for each in charts if each["currency"] == "USD")
    spent, expected = (series["values"] for series in chart["series"])
    at = chart["labels"].index("2026-03-19")
    assert (spent[at], spent[at + 1]) == (15, None)
    assert expected[at - 1 : at + 2] == [None, 15, 15]
    assert chart["band"]["lower"][at + 1] == 14.925
    assert chart["labels"][-1] == "2026-03-31"


def test_a_year_is_drawn_by_month(account_with_costs: Cast) -> None:
    page = get(account_with_costs, {"period": "year"}).content.decode()

    chart = json.loads(unescape(re.findall(r'data-chart="([^"]+)"', page)[0]))
    assert chart["labels"][-1] == "2026-12"
    assert dict(zip(chart["labels"], chart["series"][1]["values"], strict=True))["2026-04"] == 450


def test_the_url_is_the_whole_state(account_with_costs: Cast) -> None:
    query = {"period": "next_days", "days": "7", "group_by": "service", "f0": "service", "f0v": "Storage"}

    page = get(account_with_costs, query).content.decode()

    assert re.search(r'value="next_days"\s+data-custom\s+selected', page)
    assert 'value="7"' in page
    assert "35.00" in page
    assert get(account_with_costs, query, **{"HX-Request": "true"})["HX-Push-Url"].startswith(
        URL + "?period=next_days&days=7"
    )


def test_filters_are_chips_that_come_with_the_result(account_with_costs: Cast) -> None:
    query = {"period": "year", "f0": "service", "f0op": "in", "f0v": "Storage"}

    page = get(account_with_costs, query).content.decode()
    part = get(account_with_costs, query, **{"HX-Request": "true"}).content.decode()
    none = get(account_with_costs, {"period": "year"}, **{"HX-Request": "true"}).content.decode()

    assert 'title="Service is Storage"' in page
    assert "hx-swap-oob" not in page[page.index('id="question-filters"') :][:400]
    for html in (page, part):
        assert '<input type="hidden" form="query" name="f0v" value="Storage">' in html
        assert 'href="?period=year&amp;splits=before"' in html or 'href="?period=year"' in html
    assert 'hx-swap-oob="true"' in part[part.index('id="question-filters"') :][:400]
    assert 'form="query"' not in none


def test_a_question_that_cannot_be_read_keeps_its_filters(account_with_costs: Cast) -> None:
    answer = get(
        account_with_costs, {"period": "decade", "f0": "service", "f0v": "x"}, **{"HX-Request": "true"}
    )

    assert answer.status_code == 400
    assert "question-filters" not in answer.content.decode()


def test_groups_and_days_come_as_csv(account_with_costs: Cast) -> None:
    groups = csv_rows(get(account_with_costs, {"group_by": "service", "format": "csv"}))
    days = csv_rows(get(account_with_costs, {"group_by": "", "format": "csv"}))

    assert {row["service"]: Decimal(row["expected"]) for row in groups} == {
        "<b>Compute</b>": 310,
        "Storage": 155,
        "Servers": 93,
    }
    assert {row["currency"] for row in groups} == {"USD", "EUR"}
    last = [row for row in days if row["day or month"] == "2026-03-31"]
    assert {row["currency"]: Decimal(row["expected"]) for row in last} == {"USD": 15, "EUR": 3}


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"period": "decade"}, "period"),
        ({"period": "next_days", "days": "0"}, "days"),
        ({"group_by": "servise"}, "group_by"),
    ],
    ids=["period", "days", "dimension"],
)
def test_a_bad_question_is_a_400_that_says_what_to_mend(
    account_with_costs: Cast, query: dict[str, str], problem: str
) -> None:
    answer = get(account_with_costs, query)

    assert answer.status_code == 400
    assert problem in answer.content.decode()


def test_an_account_without_cost_is_sent_to_connections(cast: Cast) -> None:
    assert "No cost to forecast from" in text_of(get(cast))


def test_the_overview_has_the_end_of_the_month_in_a_tile(account_with_costs: Cast) -> None:
    text = text_of(get(account_with_costs, url="/a/acme/"))

    assert re.search(r"Forecast, March 2026 \$465\.00 .* vs .* in Feb", text)


def test_the_tile_of_a_forecast_that_fails_says_why(
    account_with_costs: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: Any, **_rest: Any) -> None:
        raise UserError("The forecast took too long.")

    monkeypatch.setattr("finops.budgets.hooks.forecast_spend", fail)

    text = text_of(get(account_with_costs, url="/a/acme/"))

    assert "Forecast — The forecast took too long." in text
    assert "$285.00" in text

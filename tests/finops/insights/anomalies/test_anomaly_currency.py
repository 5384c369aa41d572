"""Stored anomalies in a display currency: each day at its rate, with the stored amounts; amounts without a rate are
named first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from html import unescape
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Account, User
from finops.costs.queries import query_spend
from finops.costs.spend_query import Filter, SpendQuery
from finops.exchange_rates.display import display_of, display_scope
from finops.exchange_rates.services import enter_rate
from finops.insights.anomalies.causes import AnomalyCause, Causes
from finops.insights.anomalies.display import (
    AnomalyDisplay,
    anomaly_figures,
    converted_causes,
    impacts_by_currency,
)
from finops.insights.anomalies.queries import list_anomalies, open_anomalies
from finops.insights.anomalies.schemas import AnomaliesAnswer, AnomaliesQuery
from finops.insights.models import Anomaly
from finops.lib.money import exact_sum
from tests.cast import ACTOR, Cast
from tests.factories.costs import Line, add_source
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra
from tests.mcpserver.mcp_client import McpClient, mint
from tests.pages import csv_rows, text_of

ClientFor = Callable[[User], Client]
LIST = "/a/acme/anomalies/"
NEXT = SPIKE + timedelta(days=1)
RATES = {SPIKE: Decimal("1.08761234567891"), NEXT: Decimal("1.2")}
UNIT = Decimal("1e-18")


def with_spike(**columns: Any) -> list[Line]:
    """300 more on two days, in one resource."""
    lines = bill(with_extra(SPIKE, NEXT, "0"), resource_id="vm-1", **columns)
    extra = [
        {**line, "resource_id": "vm-2", "billed_cost": 300, "effective_cost": 300}
        for line in lines
        if SPIKE <= line["charge_date"] <= NEXT
    ]
    return [*lines, *extra]


def enter(account: Account, days: dict[date, Decimal] = RATES) -> None:
    for day, rate in days.items():
        enter_rate(account=account, actor=ACTOR, day=day, base="EUR", quote="USD", rate=rate)


def anomalies(account: Account, choice: str = "USD", **query: object) -> AnomaliesAnswer:
    with display_scope(display_of(account, choice)):
        return list_anomalies(account, AnomaliesQuery(**query))  # type: ignore[arg-type]


def times(amount: Decimal | str, rate: Decimal) -> Decimal:
    with localcontext(prec=80):
        return (Decimal(amount) * rate).quantize(UNIT, rounding=ROUND_HALF_UP)


@pytest.fixture
def euros(acme: Account) -> Anomaly:
    """An anomaly of a bill in euros."""
    add_source(acme, with_spike(currency="EUR"))
    (anomaly,) = run_detection(acme)
    return anomaly


@pytest.fixture
def account_with_both(acme: Account, euros: Anomaly) -> Account:
    """One of euros, and one of dollars."""
    add_source(acme, with_spike(currency="USD", service="Storage"), name="Other bill")
    assert len(run_detection(acme)) == 2
    acme.currencies = ["USD", "EUR"]
    acme.save()
    return acme


def test_the_impact_is_that_of_its_days_each_at_the_rate_of_its_day(acme: Account, euros: Anomaly) -> None:
    enter(acme)

    (row,) = anomalies(acme).anomalies

    inside = [day for day in euros.days if day[0] in map(str, RATES)]
    actual, expected, low, high = (
        exact_sum(times(day[place], RATES[date.fromisoformat(day[0])]) for day in inside)
        for place in range(1, 5)
    )
    assert (row.currency, row.actual, row.expected) == ("USD", actual, expected)
    assert (row.impact, row.expected_low, row.expected_high) == (actual - expected, low, high)
    assert row.month_end_impact == row.impact
    assert row.own_amounts is not None
    assert (row.own_amounts.currency, row.own_amounts.impact) == ("EUR", euros.impact)
    assert (row.own_amounts.actual, row.own_amounts.month_end_impact) == (
        euros.actual,
        euros.month_end_impact,
    )
    (cause, *_others) = row.root_causes
    assert cause.currency == "USD"
    assert cause.share is not None
    assert abs(cause.impact - cause.share * row.impact) < Decimal("1e-12")


def test_the_actual_cost_is_what_the_cost_explorer_shows(acme: Account, euros: Anomaly) -> None:
    enter(acme)
    question = SpendQuery(
        start_date=SPIKE,
        end_date=NEXT,
        basis="amortized",
        charge_categories=["Usage"],
        filters=[Filter(dimension="service", values=["Compute"])],
    )

    with display_scope(display_of(acme, "USD")):
        (total,) = query_spend(acme, question).totals

    assert abs(anomalies(acme).anomalies[0].actual - total.amount) < Decimal("1e-15")


def test_nothing_is_converted_for_a_reader_of_the_stored_currency(acme: Account, euros: Anomaly) -> None:
    enter(acme)

    for choice in ("own", "EUR"):
        (row,) = anomalies(acme, choice).anomalies
        assert (row.currency, row.impact, row.own_amounts) == ("EUR", euros.impact, None)


def test_the_first_sentence_sums_at_daily_rates(account_with_both: Account) -> None:
    enter(account_with_both)

    answer = anomalies(account_with_both)

    total = exact_sum(row.impact for row in answer.anomalies)
    assert {row.currency for row in answer.anomalies} == {"USD"}
    assert f"net impact +{total:,.2f} USD at daily exchange rates" in answer.summary.partition(";")[0]
    assert answer.warnings[0].startswith("Converted at the exchange rate of each day.")
    with display_scope(display_of(account_with_both, "USD")):
        (side,) = open_anomalies().impacts
    assert (side.currency, side.amount) == ("USD", total)


def test_cost_without_a_rate_is_in_no_total_and_named_first(
    account_with_both: Account, euros: Anomaly
) -> None:
    answer = anomalies(account_with_both)

    dollars = next(row for row in answer.anomalies if row.currency == "USD")
    left_out = next(row for row in answer.anomalies if row.currency == "EUR")
    first = answer.summary.partition(";")[0]
    assert f"net impact +{dollars.impact:,.2f} USD with" in first
    assert f"without {euros.impact:,.2f} EUR for which there is no exchange rate to USD" in first
    assert (left_out.impact, left_out.own_amounts) == (euros.impact, None)
    assert answer.warnings[0] == f"No exchange rate to USD: {euros.impact:,.2f} EUR. Not in the total."


def test_an_anomaly_without_rates_for_its_days_is_not_converted(acme: Account, euros: Anomaly) -> None:
    enter(
        acme, {SPIKE - timedelta(days=7): Decimal(2)}
    )  # it holds for seven days, and the second day has none

    (row,) = anomalies(acme).anomalies

    assert (row.currency, row.impact) == ("EUR", euros.impact)


@pytest.mark.parametrize(
    ("currency", "smallest", "matches"),
    [("USD", 650, 1), ("USD", 750, 0), ("EUR", 590, 1), ("EUR", 650, 0), ("", 650, 1)],
    ids=str,
)
def test_a_smallest_impact_is_of_its_currency(
    acme: Account, euros: Anomaly, currency: str, smallest: int, matches: int
) -> None:
    enter(acme)

    assert anomalies(acme, currency=currency, minimum_impact=Decimal(smallest)).total_anomalies == matches


def test_the_part_of_a_scope_is_converted_too(acme: Account, euros: Anomaly) -> None:
    enter(acme)
    (own,) = anomalies(acme, "own", cost_source="Bill").anomalies

    (row,) = anomalies(acme, cost_source="Bill").anomalies

    assert own.impact_in_scope is not None
    assert row.impact_in_scope is not None
    assert abs(row.impact_in_scope - own.impact_in_scope * row.impact / own.impact) < Decimal("1e-12")


def test_pages_show_the_stored_amount_next_to_the_converted_one(
    cast: Cast, acme: Account, euros: Anomaly, client_for: ClientFor
) -> None:
    enter(acme)
    (row,) = anomalies(acme).anomalies
    client = client_for(cast.viewer)
    shown, stored = f"+${row.impact:,.2f}", f"+€{euros.impact:,.2f} before conversion"

    listing = text_of(client.get(LIST, {"currency": "USD"}))
    page = client.get(f"{LIST}{euros.key}/")
    assert shown in listing
    assert stored in listing
    assert "Exchange rates used" in listing
    assert shown in text_of(page)
    assert stored in text_of(page)
    assert shown in text_of(client.get(f"{LIST}open/"))
    (text,) = re.findall(r'data-chart="([^"]+)"', page.content.decode())
    chart = json.loads(unescape(text))
    assert (chart["currency"], chart["shade"]) == ("USD", [str(SPIKE), str(NEXT)])
    (own,) = (day for day in euros.days if day[0] == str(NEXT))
    actual = chart["series"][0]["values"][chart["labels"].index(str(NEXT))]
    assert actual == pytest.approx(float(own[1]) * 1.2)
    (line,) = csv_rows(client.get(LIST, {"currency": "USD", "format": "csv"}))
    assert (Decimal(line["Impact"]), line["Currency"]) == (row.impact, "USD")
    assert (Decimal(line["Impact before conversion"]), line["Currency before conversion"]) == (
        euros.impact,
        "EUR",
    )


def test_pages_of_two_currencies_show_one_and_name_the_other(
    cast: Cast, account_with_both: Account, client_for: ClientFor
) -> None:
    client = client_for(cast.viewer)

    for url in (LIST, f"{LIST}open/"):
        text = text_of(client.get(url))
        assert "Storage" in text or "Resource: vm-2" in text
        assert "€" not in text
        assert "Not included: 1 in EUR. Switch the currency to show them." in text
    assert "Open (1)" in text_of(client.get(LIST))
    (line,) = csv_rows(client.get(LIST, {"format": "csv"}))
    assert line["data note"] == "Not included: 1 in EUR. Switch the currency to show them."
    assert line["Note"] == ""
    assert "$" not in text_of(client.get(LIST, {"currency": "only-EUR"})).partition("Severity")[2]


def test_an_assistant_gets_the_rates_with_the_amounts(cast: Cast, acme: Account, euros: Anomaly) -> None:
    enter(acme)
    mcp_client = McpClient(mint(cast))

    answer = mcp_client.ask("listAnomalies", display_currency="USD")

    (row,) = answer["anomalies"]
    assert (row["currency"], row["own_amounts"]["currency"]) == ("USD", "EUR")
    assert answer["conversion"]["display_currency"] == "USD"
    assert {each["rate"] for each in answer["conversion"]["exchange_rates"]} == {"1.08761234567891", "1.2"}
    assert "own_amounts" not in mcp_client.ask("listAnomalies")["anomalies"][0]


def test_savings_of_an_assistant_follow_its_display_currency(cast: Cast, acme: Account) -> None:
    add_source(acme, bill(currency="EUR"))

    answer = McpClient(mint(cast)).ask("listSavingsRecommendations", display_currency="USD")

    assert all(total["currency"] in ("USD", "EUR") for total in answer["totals"])


AMOUNTS = st.decimals(min_value=-(10**6), max_value=10**6, places=6)
DAYS = st.lists(
    st.tuples(AMOUNTS, AMOUNTS, st.decimals(min_value="0.0001", max_value=10**4, places=14)),
    min_size=1,
    max_size=6,
)


@given(DAYS, st.integers(min_value=0, max_value=3))
def test_days_add_up_to_the_anomaly_and_causes_to_its_impact(
    cells: list[tuple[Decimal, Decimal, Decimal]], others: int
) -> None:
    first = date(2026, 3, 1)
    days = [first + timedelta(days=count) for count in range(len(cells))]
    impact = exact_sum(actual - expected for actual, expected, _rate in cells)
    anomaly = Anomaly(
        currency="EUR",
        first_day=days[0],
        last_day=days[-1],
        actual=exact_sum(each[0] for each in cells),
        expected=exact_sum(each[1] for each in cells),
        impact=impact,
        month_end_impact=impact,
        days=[
            [str(day), *(f"{each:f}" for each in (*cell[:2], *cell[:2]))]
            for day, cell in zip(days, cells, strict=True)
        ],
    )
    display = AnomalyDisplay("USD", {("EUR", day): cell[2] for day, cell in zip(days, cells, strict=True)})

    figures = anomaly_figures(anomaly, display)

    assert figures.actual == exact_sum(times(actual, rate) for actual, _expected, rate in cells)
    assert figures.impact == exact_sum(
        times(actual, rate) - times(expected, rate) for actual, expected, rate in cells
    )
    assert figures.month_end_impact == figures.impact
    assert impacts_by_currency([figures, figures]) == {"USD": figures.impact * 2}
    if impact:
        part = (impact / 3).quantize(Decimal("1e-6"))
        row = AnomalyCause(value="vm", actual=part, expected=Decimal(0), excess=part, share=None)
        rows = Causes(
            dimension="resource",
            title="Resource",
            rows=[row],
            other_values=others,
            other_excess=impact - part,
        )
        (converted,) = converted_causes([rows], figures)
        assert converted.total == figures.impact

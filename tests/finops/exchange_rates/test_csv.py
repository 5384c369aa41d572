"""CSV of converted pages: beside converted amounts those of the bills, and the rates with their dates and sources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import Account
from finops.allocation.models import SharedCostSplit, TeamKey
from finops.exchange_rates.services import enter_rate
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event
from tests.pages import csv_rows

MARCH = {"start_date": "2026-03-01", "end_date": "2026-03-20", "format": "csv"}
EXPLORER = "/a/acme/cost-explorer/"


@pytest.fixture
def bill(acme: Account) -> Account:
    """Dollars; euros on two days with a rate of 2 and 1.5, and on one without; yen without any rate."""
    add_source(
        acme,
        [
            cost(date(2026, 3, 18), 1000, service="VM", region="eu"),
            cost(date(2026, 3, 1), 7, currency="EUR", service="VM", region="eu"),
            cost(date(2026, 3, 17), 100, currency="EUR", service="VM", region="eu"),
            cost(date(2026, 3, 18), 200, currency="EUR", service="VM", region="eu"),
            cost(date(2026, 3, 18), "0.000000000000000001", currency="EUR", service="Disk", region="us"),
            cost(date(2026, 3, 18), 9, currency="JPY", service="VM", region="eu"),
        ],
    )
    for day, rate in ((17, "2"), (18, "1.5")):
        enter_rate(
            account=acme, actor=ACTOR, day=date(2026, 3, day), base="EUR", quote="USD", rate=Decimal(rate)
        )
    acme.currencies = ["USD", "EUR", "JPY"]
    acme.save()
    return acme


def euro_cells(row: Mapping[str, str]) -> dict[str, str]:
    """The cells of the euro that a row has."""
    return {
        name.removeprefix("EUR "): value for name, value in row.items() if name.startswith("EUR ") and value
    }


def test_a_row_has_the_amount_of_the_bill_and_the_rates_with_dates_and_source(
    bill: Account, member: Client
) -> None:
    rows = csv_rows(member.get(EXPLORER, {**MARCH, "group_by": "service", "currency": "USD"}))

    converted = {row["service"]: row for row in rows if row["currency"] == "USD"}
    assert Decimal(converted["VM"]["amount"]) == 1000 + 100 * 2 + Decimal(200) * Decimal("1.5")
    assert euro_cells(converted["VM"]) == {
        "amount": "300.000000000000000000",
        "lowest rate": "1.5",
        "highest rate": "2",
        "rate dates": "2026-03-17 to 2026-03-18",
        "rate source": "Entered",
    }
    assert euro_cells(converted["Disk"])["amount"] == "0.000000000000000001"


def test_cost_without_a_rate_is_a_separate_row_in_its_currency(bill: Account, member: Client) -> None:
    rows = csv_rows(member.get(EXPLORER, {**MARCH, "group_by": "service", "currency": "USD"}))

    rows_without_rate = {row["currency"]: row for row in rows if row["currency"] != "USD"}
    assert {name: Decimal(row["amount"]) for name, row in rows_without_rate.items()} == {"EUR": 7, "JPY": 9}
    assert [euro_cells(row) for row in rows_without_rate.values()] == [{}, {}]
    assert not [name for name in rows[0] if name.startswith("JPY ")]


def test_each_day_has_the_amount_of_the_bill_which_gives_its_rate(bill: Account, member: Client) -> None:
    question = {**MARCH, "granularity": "day", "group_by": "region", "currency": "USD"}
    (row,) = [
        row
        for row in csv_rows(member.get(EXPLORER, question))
        if row["region"] == "eu" and row["currency"] == "USD"
    ]
    assert Decimal(row["2026-03-17"]) == Decimal(row["EUR 2026-03-17"]) * 2 == 200
    assert Decimal(row["2026-03-18"]) - 1000 == Decimal(row["EUR 2026-03-18"]) * Decimal("1.5") == 300
    assert Decimal(row["EUR 2026-03-01"]) == 0


def test_totals_and_the_previous_period_have_them_too(bill: Account, member: Client) -> None:
    question = {
        "start_date": "2026-03-18",
        "end_date": "2026-03-18",
        "compare_to": "previous_period",
        "format": "csv",
        "currency": "USD",
        "group_by": "",
    }
    total = next(row for row in csv_rows(member.get(EXPLORER, question)) if row["currency"] == "USD")
    figures = euro_cells(total)
    assert Decimal(figures["amount"]) == Decimal("200.000000000000000001")
    assert Decimal(figures["previous amount"]) == 100


def test_beside_an_unknown_previous_amount_there_is_none_of_the_bill(bill: Account, member: Client) -> None:
    lines = [
        cost(date(2026, 3, 16), 50, currency="EUR", service="VM"),
        cost(date(2026, 3, 18), 1, service="VM"),
    ]
    add_source(bill, lines, name="Second")
    question = {
        "start_date": "2026-03-17",
        "end_date": "2026-03-17",
        "compare_to": "previous_period",
        "format": "csv",
        "currency": "USD",
        "group_by": "service",
    }
    vm = next(row for row in csv_rows(member.get(EXPLORER, question)) if row["currency"] == "USD")

    assert Decimal(vm["amount"]) == 2 * Decimal(vm["EUR amount"]) == 200
    # The 50 EUR of the day before have no rate: neither figure of that day may look like all of it.
    assert (vm["previous amount"], vm["EUR previous amount"]) == ("", "")


def test_after_shared_cost_splits_there_are_rates_alone(bill: Account, member: Client) -> None:
    SharedCostSplit.objects.create(
        account=bill,
        name="Disks",
        dimension="service",
        source_value="Disk",
        method="even",
        targets=[{"value": "VM", "percent": None}],
    )
    question = {**MARCH, "group_by": "service", "splits": "after", "currency": "USD"}
    rows = csv_rows(member.get(EXPLORER, question))
    (converted,) = [row for row in rows if row["currency"] == "USD"]
    assert converted["service"] == "VM"
    assert list(euro_cells(converted)) == ["lowest rate", "highest rate", "rate dates", "rate source"]
    assert "EUR amount" not in converted


def test_a_csv_in_own_currencies_is_as_it_was(bill: Account, member: Client) -> None:
    (first, *_rest) = csv_rows(member.get(EXPLORER, {**MARCH, "group_by": "service", "currency": "own"}))
    assert not [name for name in first if " rate" in name or name.startswith("EUR ")]


@pytest.mark.parametrize(
    ("path", "query", "figures"),
    [
        ("spend-change/", {"group_by": "service"}, ["before", "after", "change"]),
        ("forecast/", {"group_by": "service"}, ["spent", "previous period"]),
        ("forecast/", {"group_by": ""}, ["spent"]),
        ("commitments/", {}, ["committed", "used", "unused", "on demand", "net savings", "purchases billed"]),
        ("unit-economics/", {"usage_metric": "requests"}, ["cost"]),
        ("teams/", {}, ["this month", "last month"]),
    ],
)
def test_every_csv_of_converted_cost_has_these_columns(
    bill: Account, member: Client, path: str, query: dict[str, str], figures: list[str]
) -> None:
    TeamKey.objects.create(account=bill, dimension="region")
    add_usage(bill, [event(date(2026, 3, 18), "acme", 5)])
    response = member.get(f"/a/acme/{path}", {**query, "currency": "USD", "format": "csv"})
    header = response.getvalue().decode().splitlines()[0].split(",")
    rates = ["lowest rate", "highest rate", "rate dates", "rate source"]
    assert header[-len(figures) - 4 :] == [f"EUR {name}" for name in [*figures, *rates]]


def test_the_rates_of_each_day_are_a_csv(bill: Account, cast: Cast) -> None:
    used = "/a/acme/exchange-rates/used/"
    question = {"to": "USD", "start_date": "2026-03-01", "end_date": "2026-03-20"}
    rows = csv_rows(signed_in(cast.viewer).get(used, question))
    assert [(row["from"], row["to"], row["rate"], row["start date"], row["rate date"]) for row in rows] == [
        ("EUR", "USD", "1.5", "2026-03-18", "2026-03-18"),
        ("EUR", "USD", "2", "2026-03-17", "2026-03-17"),
    ]
    assert {row["source"] for row in rows} == {"Entered"}
    assert signed_in(cast.viewer).get(used, {**question, "to": "EU"}).status_code == 400
    assert signed_in(cast.viewer).get(used, {**question, "start_date": "soon"}).status_code == 400
    assert signed_in(cast.stranger).get(used, question).status_code == 404
    other = f"/a/{cast.other_account.slug}/exchange-rates/used/"
    assert csv_rows(signed_in(cast.both).get(other, question)) == []

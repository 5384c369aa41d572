"""Savings in a display currency: what a recommendation is about stays, its amounts are converted, the bill's stand beside."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import Account, User
from finops.exchange_rates.display import display_of, display_scope
from finops.exchange_rates.services import enter_rate
from finops.insights.models import SavingsDismissal
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsAnswer, SavingsQuery
from tests.cast import ACTOR, Cast
from tests.factories.costs import add_source
from tests.finops.insights.savings.bills import LAST, volume
from tests.pages import csv_rows

LIST = "/a/acme/savings/"
RATE = Decimal("1.08761234567891")


def savings(account: Account, choice: str, **query: object) -> SavingsAnswer:
    with display_scope(display_of(account, choice)):
        return list_savings(account, SavingsQuery(**query))  # type: ignore[arg-type]


@pytest.fixture
def bills(acme: Account) -> Account:
    """A volume in dollars that could cost 60 less a month, and one in euros that could cost 120 less."""
    add_source(acme, [*volume("10"), *volume("20", currency="EUR", resource_id="vol-2")])
    return acme


def enter(account: Account, rate: Decimal = RATE, day: date = LAST) -> None:
    enter_rate(account=account, actor=ACTOR, day=day, base="EUR", quote="USD", rate=rate)


def test_amounts_are_converted_by_the_rate_of_the_last_day_and_the_bill_s_stand_beside(
    bills: Account,
) -> None:
    enter(bills, Decimal(3), date(2026, 2, 10))
    enter(bills)
    answer = savings(bills, "USD")
    (total,) = answer.totals
    assert (total.currency, total.monthly_saving) == ("USD", 60 + 120 * RATE)
    euros = answer.recommendations[0]
    assert (euros.monthly_saving, euros.monthly_cost, euros.currency) == (120 * RATE, 600 * RATE, "USD")
    assert euros.billed is not None
    assert euros.billed.currency == "EUR"
    assert [euros.billed.monthly_saving, euros.billed.monthly_cost] == [120, 600]
    assert [(each.cost, each.saving, each.currency) for each in euros.evidence] == [
        (600 * RATE, 120 * RATE, "USD")
    ]
    assert answer.recommendations[1].billed is None
    assert (
        "Savings are converted at the exchange rates of 2026-02-28: 1 EUR = 1.08761234567891 USD."
        in answer.warnings
    )


def test_recommendations_are_the_same_in_every_currency(bills: Account) -> None:
    enter(bills)
    ids = {row.id for row in savings(bills, "own").recommendations}
    for choice in ("USD", "EUR"):
        assert {row.id for row in savings(bills, choice).recommendations} == ids
    assert [row.currency for row in savings(bills, "only-EUR").recommendations] == ["EUR"]
    assert [row.monthly_saving for row in savings(bills, "USD", currency="EUR").recommendations] == [
        120 * RATE
    ]


def test_the_first_sentence_names_what_has_no_rate(bills: Account) -> None:
    answer = savings(bills, "USD")
    assert (
        "without 120.00 EUR for which there is no exchange rate to USD" in answer.summary.partition(". ")[0]
    )
    assert "potential savings of 60.00 USD a month" in answer.summary
    assert answer.warnings[0] == "No exchange rate to USD: 120.00 EUR. Not in the total."


def test_a_saving_is_dismissed_on_a_converted_page_and_stays_so_in_every_currency(
    cast: Cast, bills: Account, client_for: Callable[[User], Client]
) -> None:
    enter(bills)
    bills.display_currency = "USD"
    bills.save()
    client = client_for(cast.member)
    row = savings(bills, "USD").recommendations[0]
    html = client.get(f"{LIST}{row.id}/").content.decode()
    assert "130.51" in html
    assert "120.00" in html
    answer = client.post(f"{LIST}{row.id}/dismiss/", {"reason": "Leaves soon"}, follow=True)
    assert answer.status_code == 200
    assert SavingsDismissal.objects.get().currency == "EUR"
    for choice in ("own", "USD", "EUR"):
        assert row.id not in {each.id for each in savings(bills, choice).recommendations}


def test_the_csv_has_the_amounts_of_the_bill_too(
    cast: Cast, bills: Account, client_for: Callable[[User], Client]
) -> None:
    enter(bills)
    rows = csv_rows(client_for(cast.viewer).get(f"{LIST}?format=csv&currency=USD"))
    assert [(row["Currency"], row["Billing currency"]) for row in rows] == [("USD", "EUR"), ("USD", "USD")]
    assert [Decimal(row["Billed monthly savings"]) for row in rows] == [120, 60]
    assert Decimal(rows[0]["Monthly savings"]) == 120 * RATE

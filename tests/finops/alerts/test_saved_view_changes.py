"""Saved views: alerts on a change of their spend."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertDelivery
from finops.alerts.services.evaluation_runs import evaluate_if_due
from finops.alerts.triggers.spend import limit_notes
from tests.cast import Cast, signed_in
from tests.factories.alerts import evaluate, subscribe, subscribe_to_anomalies
from tests.factories.budgets import daily_cost
from tests.factories.costs import add_source, store_lines
from tests.factories.days import at
from tests.finops.alerts.test_digests import MONDAY, SUNDAY
from tests.finops.alerts.test_saved_view_alerts import SPIKE, add_spend, facts_of, lines, save_view
from tests.pages import get_page

pytestmark = pytest.mark.django_db


def test_a_change_beyond_a_share_is_sent_once_for_the_week(acme: Account) -> None:
    view = save_view(acme)
    subscribe(acme, "view_change", saved_view=view.name, frequency="weekly", minimum_percent=80)
    source = add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)
        store_lines(acme, source, lines(SUNDAY, spike=21))
        assert services.evaluate(acme) == []

    message = delivery.message
    assert message["title"] == "'Acme': 'Compute by region' changed by +$70.00 (+83.3%)"
    assert facts_of(delivery) == {
        "Account": "Acme",
        "Total in USD": "$154.00 · +$70.00 (+83.3%)",
        "eu": "+$70.00, now $140.00",
    }
    assert message["severity"] == "warning"
    assert message["chart"]["title"] == "Spend by day in USD"
    assert message["chart"]["series"][0]["values"] == [22.0] * 7


@pytest.mark.parametrize(
    ("percent", "amount", "is_sent"),
    [
        (83, None, True),
        (84, None, False),
        (None, "70", True),
        (None, "70.01", False),
        (80, "70", True),
        (80, "71", False),
        (90, "70", False),
    ],
    ids=str,
)
def test_a_change_is_sent_from_its_share_or_amount_on(
    acme: Account, percent: int | None, amount: str | None, is_sent: bool
) -> None:
    money = {} if amount is None else {"minimum_impact": Decimal(amount), "currency": "USD"}
    subscribe(
        acme,
        "view_change",
        saved_view=save_view(acme).name,
        frequency="weekly",
        minimum_percent=percent,
        **money,
    )
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        assert bool(evaluate(acme)) is is_sent


def test_a_drop_is_a_change_too(acme: Account) -> None:
    subscribe(acme, "view_change", saved_view=save_view(acme).name, frequency="daily", minimum_percent=50)
    add_spend(acme, SPIKE, spike=2)

    with at(date(2026, 3, 21), 6):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["title"].endswith("changed by −$8.00 (−66.7%)")
    assert delivery.message["severity"] == "info"


def test_an_amount_in_another_currency_is_not_reached(acme: Account) -> None:
    subscribe(
        acme,
        "view_change",
        saved_view=save_view(acme).name,
        frequency="weekly",
        minimum_impact=Decimal(1),
        currency="EUR",
    )
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        assert evaluate(acme) == []


def test_a_week_that_is_not_complete_is_not_compared(acme: Account) -> None:
    subscribe(acme, "view_change", saved_view=save_view(acme).name, frequency="weekly", minimum_percent=10)
    add_spend(acme, date(2026, 3, 21))

    with at(MONDAY + timedelta(days=2)):
        assert evaluate(acme) == []


def test_the_change_that_was_there_before_is_no_news(acme: Account) -> None:
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        subscribe(
            acme, "view_change", saved_view=save_view(acme).name, frequency="weekly", minimum_percent=10
        )
        assert evaluate(acme) == []


def test_a_change_without_an_exchange_rate_is_not_compared_and_the_page_says_so(
    acme: Account, cast: Cast
) -> None:
    view = save_view(acme, filters=[])
    row = subscribe(acme, "view_change", saved_view=view.name, frequency="weekly", minimum_percent=10)
    add_spend(acme, SUNDAY)
    add_source(acme, daily_cost(SPIKE, SUNDAY, 1, currency="GBP"), name="Pounds")
    acme.display_currency = "USD"
    acme.save()

    with at(MONDAY, 6):
        assert evaluate_if_due(acme)
        page = get_page(signed_in(cast.viewer), f"/a/acme/alerts/subscriptions/{row.pk}/")

    assert not AlertDelivery.objects.exists()
    assert "Change of 'Compute by region': Not compared. No exchange rate to USD: £7.00." in page


def test_an_amount_in_a_currency_that_the_account_does_not_have_is_marked(acme: Account, cast: Cast) -> None:
    acme.currencies = ["USD"]
    acme.save()
    amount = {"minimum_impact": Decimal(1), "currency": "EUR"}
    row = subscribe(acme, "view_change", saved_view=save_view(acme).name, frequency="weekly", **amount)
    client, url = signed_in(cast.viewer), f"/a/acme/alerts/subscriptions/{row.pk}/"

    assert "Cost is in USD, so nothing reaches an amount in EUR. Edit the currency." in get_page(client, url)
    acme.display_currency = "EUR"
    acme.save()
    assert "nothing reaches" not in get_page(client, url)
    anomalies = subscribe_to_anomalies(acme, 100)
    page = get_page(client, f"/a/acme/alerts/subscriptions/{anomalies.pk}/")
    assert "nothing reaches" not in page


def test_more_notes_than_a_message_has_room_for_are_counted() -> None:
    notes = [f"Note {number}." for number in range(5)]

    assert limit_notes(notes, "in the saved view") == [*notes[:3], "2 more notes in the saved view."]
    assert limit_notes(notes[:4], "there") == [*notes[:3], "1 more note there."]
    assert limit_notes(notes[:3], "there") == notes[:3]

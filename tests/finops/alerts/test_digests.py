"""Digests: when they go out, and what they say. Weeks begin on Monday; 23 March 2026 is one."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.models import AlertDelivery
from finops.alerts.triggers.digest import due_digest
from finops.costs.services.cost_view import change_cost_view
from finops.insights.anomalies.services import detect_if_due
from tests.cast import ACTOR, Cast
from tests.factories.alerts import create_channel, evaluate, subscribe
from tests.factories.bills import Bills, usage
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import add_source
from tests.factories.days import at

MONDAY, SUNDAY = date(2026, 3, 23), date(2026, 3, 22)
JANUARY = date(2026, 1, 1)


def add_spend(account: Account, through: date) -> None:
    """Compute costs 10 USD a day, from 16 March on 20; Storage always 1. The anomalies are looked for."""
    add_source(
        account,
        [
            *daily_cost(JANUARY, date(2026, 3, 15), 10, service="Compute"),
            *daily_cost(date(2026, 3, 16), through, 20, service="Compute"),
            *daily_cost(JANUARY, through, 1, service="Storage"),
        ],
    )


def detect_and_evaluate(account: Account) -> list[str]:
    detect_if_due(account)
    return evaluate(account)


@pytest.mark.parametrize(
    ("frequency", "today", "first", "last"),
    [
        ("weekly", MONDAY, date(2026, 3, 16), SUNDAY),
        ("weekly", date(2026, 3, 29), date(2026, 3, 16), SUNDAY),
        ("monthly", date(2026, 4, 1), date(2026, 3, 1), date(2026, 3, 31)),
        ("monthly", date(2026, 1, 31), date(2025, 12, 1), date(2025, 12, 31)),
    ],
)
def test_a_digest_is_of_the_whole_week_or_month_before(
    frequency: str, today: date, first: date, last: date
) -> None:
    days = due_digest(frequency, today).days

    assert (days.start, days.end) == (first, last)


@pytest.mark.django_db
def test_a_weekly_digest_goes_out_once_when_the_week_is_complete(acme: Account) -> None:
    subscribe(acme)
    with at(SUNDAY, 6):
        assert evaluate(acme) == []
    with at(MONDAY, 6):
        assert evaluate(acme) == []
    add_spend(acme, SUNDAY)

    with at(MONDAY, 9):
        assert detect_and_evaluate(acme) == ["$147.00 in the week of Mar 16"]
    for day in range(7):
        with at(MONDAY + timedelta(days=day), 10):
            assert detect_and_evaluate(acme) == []


@pytest.mark.django_db
def test_a_digest_names_first_what_has_no_exchange_rate(acme: Account) -> None:
    acme.display_currency = "USD"
    acme.save()
    subscribe(acme)
    add_source(
        acme,
        [*daily_cost(JANUARY, SUNDAY, 10), *daily_cost(date(2026, 3, 16), SUNDAY, 3, currency="EUR")],
    )

    with at(MONDAY, 9):
        assert detect_and_evaluate(acme) == ["$70.00 in the week of Mar 16"]
    summary = AlertDelivery.objects.get().message["summary"]
    assert "spent $70.00, Mar 16 – 22, without €21.00 for which there is no exchange rate to USD" in summary


@pytest.mark.django_db
def test_a_monthly_digest_names_the_days_of_months_of_different_lengths(acme: Account) -> None:
    subscribe(acme, frequency="monthly")
    add_source(acme, daily_cost(JANUARY, date(2026, 3, 31), 10))

    with at(date(2026, 4, 1), 9):
        detect_if_due(acme)
        (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"] == (
        "'Acme' spent $310.00, Mar 1 – 31: +$30.00 (+10.7%) vs Feb 1 – 28 (31 days compared with 28)."
    )


@pytest.mark.django_db
def test_a_digest_has_total_change_movers_budgets_anomalies_and_savings(acme: Account) -> None:
    create_budget(acme, "Cloud", 300)
    create_budget(acme, "Roomy", 10_000)
    subscribe(acme)
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        detect_if_due(acme)
        (delivery,) = services.evaluate(acme)

    message = delivery.message
    assert message["summary"] == ("'Acme' spent $147.00, Mar 16 – 22: +$70.00 (+90.9%) vs Mar 9 – 15.")
    facts = {fact["label"]: fact["value"] for fact in message["facts"]}
    assert list(facts) == [
        "Account",
        "Total in USD",
        "Compute",
        "Budgets at risk",
        "Open anomalies",
        "Savings",
    ]
    assert facts["Total in USD"] == "$147.00 · +$70.00 (+90.9%)"
    assert facts["Compute"] == "+$70.00, now $140.00"
    assert facts["Budgets at risk"] == "1 of 2: Cloud (exceeded, $312.00 of $300.00)."
    assert facts["Open anomalies"].startswith("1, +")
    assert facts["Savings"] == "Nothing open."
    assert message["url"] == (
        "http://127.0.0.1:8000/a/acme/spend-change/?start_date=2026-03-16&end_date=2026-03-22&limit=5"
    )
    assert (message["kind"], message["severity"]) == ("digest", "info")
    assert message["data"]["totals"] == [
        {
            "total": {"amount": 147.0, "currency": "USD"},
            "change": {"amount": 70.0, "currency": "USD"},
        }
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("through", "note"),
    [
        (date(2026, 3, 20), "Data is complete through Mar 20 only, not Mar 22."),
        (None, "There is no cost data yet."),
    ],
    ids=["late", "no data"],
)
def test_after_three_days_of_waiting_it_goes_out_with_a_note(
    acme: Account, through: date | None, note: str
) -> None:
    subscribe(acme)
    if through:
        add_spend(acme, through)

    for day in range(3):
        with at(MONDAY + timedelta(days=day), 23):
            assert detect_and_evaluate(acme) == []
    with at(MONDAY + timedelta(days=3), 0):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"].endswith(note)


@pytest.mark.django_db
def test_a_late_digest_names_the_compared_days_and_the_charge_categories_left_out(
    cast: Cast, tmp_path: Path
) -> None:
    bills = Bills(cast, tmp_path)
    tax = usage({"Tax": lambda _day: 3}, JANUARY, SUNDAY, ChargeCategory="Tax")
    compute = usage({"Compute": lambda day: 10 if day < date(2026, 3, 16) else 20}, JANUARY, SUNDAY)
    bills.bring("AWS", [*compute, *tax], on=MONDAY)
    with account_scope(cast.account):
        with at(date(2026, 3, 20)):
            create_channel(cast.account)
            subscribe(cast.account)
            change_cost_view(account=cast.account, actor=ACTOR, basis="billed", charge_categories=["Usage"])
        with at(MONDAY + timedelta(days=3), 1):
            (delivery,) = services.evaluate(cast.account)

    summary = delivery.message["summary"]
    assert summary.startswith(
        "'Acme' spent $140.00, Mar 16 – 22 (without $21.00 of Tax), of which $40.00 on Mar 21 – 22 is incomplete"
    )
    assert "; +$50.00 (+100%) on complete days vs Mar 9 – 13." in summary
    facts = {fact["label"]: fact["value"] for fact in delivery.message["facts"]}
    assert facts["Total in USD"].endswith("on complete days")


@pytest.mark.django_db
def test_a_digest_waits_for_the_detection_of_anomalies(acme: Account) -> None:
    subscribe(acme)
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        assert evaluate(acme) == []
        assert len(detect_and_evaluate(acme)) == 1


@pytest.mark.django_db
def test_a_monthly_digest_is_of_the_month(acme: Account) -> None:
    create_budget(acme, "Cloud", 450)
    create_budget(acme, "Kept", 510)
    create_budget(acme, "Year", 1300, period="yearly")
    subscribe(acme, "digest", frequency="monthly")
    add_spend(acme, date(2026, 3, 31))

    with at(date(2026, 4, 1), 6):
        detect_if_due(acme)
        (delivery,) = services.evaluate(acme)

    facts = {fact["label"]: fact["value"] for fact in delivery.message["facts"]}
    assert delivery.message["title"] == "'Acme': $501.00 in the month of Mar 1"
    assert facts["Total in USD"] == "$501.00 · +$193.00 (+62.7%)"
    assert facts["Budgets at risk"] == (
        "2 of 3: Cloud (exceeded, $501.00 of $450.00), Year (warning, $1,150.00 of $1,300.00)."
    )


@pytest.mark.django_db
def test_amounts_of_two_currencies_stay_separate(acme: Account) -> None:
    subscribe(acme)
    add_spend(acme, SUNDAY)
    add_source(acme, daily_cost(JANUARY, SUNDAY, 3, currency="EUR", service="Mail"), name="Euros")

    with at(MONDAY, 6):
        detect_if_due(acme)
        (delivery,) = services.evaluate(acme)

    facts = {fact["label"]: fact["value"] for fact in delivery.message["facts"]}
    assert delivery.message["title"] == "'Acme': $147.00 and €21.00 in the week of Mar 16"
    assert facts["Total in EUR"] == "€21.00 · €0.00 (0%)"


@pytest.mark.django_db
def test_a_digest_of_many_currencies_says_how_many_more_there_are(acme: Account) -> None:
    subscribe(acme)
    for place, currency in enumerate(["USD", "EUR", "GBP", "CHF", "JPY"]):
        add_source(acme, daily_cost(JANUARY, SUNDAY, 10 - place, currency=currency), name=currency)

    with at(MONDAY, 6):
        detect_if_due(acme)
        (delivery,) = services.evaluate(acme)

    assert delivery.message["title"].startswith(
        "'Acme': $70.00, €63.00, £56.00 and amounts in 2 more currencies in the week"
    )
    labels = [fact["label"] for fact in delivery.message["facts"]]
    assert labels[1:6] == [f"Total in {code}" for code in ("USD", "EUR", "GBP", "CHF", "JPY")]


@pytest.mark.django_db
def test_a_subscription_that_is_made_on_its_day_waits_for_the_next(acme: Account) -> None:
    add_spend(acme, date(2026, 3, 29))

    with at(MONDAY, 5):
        subscribe(acme)
        assert detect_and_evaluate(acme) == []
    with at(date(2026, 3, 30), 6):
        assert detect_and_evaluate(acme) == ["$147.00 in the week of Mar 23"]


@pytest.mark.django_db
def test_a_digest_of_a_pause_is_not_sent_after_it(acme: Account) -> None:
    add_spend(acme, SUNDAY)
    subscription = subscribe(acme)
    services.pause_alert_subscription(subscription=subscription, actor=ACTOR)

    with at(MONDAY, 6):
        assert detect_and_evaluate(acme) == []
    with at(date(2026, 3, 24), 6):
        services.resume_alert_subscription(subscription=subscription, actor=ACTOR)
        assert detect_and_evaluate(acme) == []


@pytest.mark.django_db
def test_channels_with_the_same_digest_get_the_same(acme: Account) -> None:
    create_channel(acme, "Chat")
    subscribe(acme)
    subscribe(acme, channel="Chat")
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        assert len(detect_and_evaluate(acme)) == 2

    rows: list[Any] = list(AlertDelivery.objects.values_list("message", flat=True))
    assert rows[0] == rows[1]

"""Digests: when they go out, and what they say. Weeks begin on Monday; 23 March 2026 is one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertDelivery
from finops.alerts.triggers.digest import due_digest
from finops.insights.anomalies.services import detect_if_due
from finops.lib import clock
from tests.finops.alerts.world import ACTOR, channel, subscribe, told
from tests.finops.budgets.world import daily, make
from tests.finops.costs.rows import add_source

MONDAY, SUNDAY = date(2026, 3, 23), date(2026, 3, 22)
JANUARY = date(2026, 1, 1)


def at(day: date, hour: int = 6) -> AbstractContextManager[None]:
    return clock.frozen(datetime(day.year, day.month, day.day, hour, tzinfo=UTC))


def spending(account: Account, through: date) -> None:
    """Compute costs 10 USD a day, from 16 March on 20; Storage always 1. The anomalies are looked for."""
    add_source(
        account,
        [
            *daily(JANUARY, date(2026, 3, 15), 10, service="Compute"),
            *daily(date(2026, 3, 16), through, 20, service="Compute"),
            *daily(JANUARY, through, 1, service="Storage"),
        ],
    )


def detect_and_evaluate(account: Account) -> list[str]:
    detect_if_due(account)
    return told(account)


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
    with at(SUNDAY):
        assert told(acme) == []
    with at(MONDAY):
        assert told(acme) == []
    spending(acme, SUNDAY)

    with at(MONDAY, hour=9):
        assert detect_and_evaluate(acme) == ["147.00 USD in the week of 2026-03-16"]
    for day in range(7):
        with at(MONDAY + timedelta(days=day), hour=10):
            assert detect_and_evaluate(acme) == []


@pytest.mark.django_db
def test_a_digest_tells_total_change_movers_budgets_anomalies_and_savings(acme: Account) -> None:
    make(acme, "Cloud", 300)
    make(acme, "Roomy", 10_000)
    subscribe(acme)
    spending(acme, SUNDAY)

    with at(MONDAY):
        detect_if_due(acme)
        (sent,) = services.evaluate(acme)

    message = sent.message
    assert message["summary"] == (
        "'Acme' spent 147.00 USD from 2026-03-16 to 2026-03-22: +70.00 USD (+90.9 %) against 2026-03-09 to 2026-03-15."
    )
    facts = {fact["label"]: fact["value"] for fact in message["facts"]}
    assert list(facts) == [
        "Account",
        "Total in USD",
        "Compute",
        "Budgets at risk",
        "Open anomalies",
        "Savings",
    ]
    assert facts["Total in USD"] == "147.00 USD · +70.00 USD (+90.9 %)"
    assert facts["Compute"] == "+70.00 USD, now 140.00 USD"
    assert facts["Budgets at risk"] == "1 of 2: Cloud (exceeded, 312.00 USD of 300.00 USD)."
    assert facts["Open anomalies"].startswith("1, +")
    assert facts["Savings"] == "Nothing open."
    assert message["url"] == (
        "http://127.0.0.1:8000/a/acme/spend-change/?start_date=2026-03-16&end_date=2026-03-22&top=5"
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
        (date(2026, 3, 20), "Data is complete through 2026-03-20 only, not 2026-03-22."),
        (None, "There is no cost data yet."),
    ],
    ids=["late", "no data"],
)
def test_after_three_days_of_waiting_it_goes_out_with_a_note(
    acme: Account, through: date | None, note: str
) -> None:
    subscribe(acme)
    if through:
        spending(acme, through)

    for day in range(3):
        with at(MONDAY + timedelta(days=day), hour=23):
            assert detect_and_evaluate(acme) == []
    with at(MONDAY + timedelta(days=3), hour=0):
        (sent,) = services.evaluate(acme)

    assert sent.message["summary"].endswith(note)


@pytest.mark.django_db
def test_it_waits_for_the_look_for_anomalies_too(acme: Account) -> None:
    subscribe(acme)
    spending(acme, SUNDAY)

    with at(MONDAY):
        assert told(acme) == []
        assert len(detect_and_evaluate(acme)) == 1


@pytest.mark.django_db
def test_a_monthly_digest_is_of_the_month(acme: Account) -> None:
    make(acme, "Cloud", 450)
    make(acme, "Kept", 510)
    make(acme, "Year", 1300, period="yearly")
    subscribe(acme, "digest", frequency="monthly")
    spending(acme, date(2026, 3, 31))

    with at(date(2026, 4, 1)):
        detect_if_due(acme)
        (sent,) = services.evaluate(acme)

    facts = {fact["label"]: fact["value"] for fact in sent.message["facts"]}
    assert sent.message["title"] == "'Acme': 501.00 USD in the month of 2026-03-01"
    assert facts["Total in USD"] == "501.00 USD · +193.00 USD (+62.7 %)"
    assert facts["Budgets at risk"] == (
        "2 of 3: Cloud (exceeded, 501.00 USD of 450.00 USD), Year (warning, 1,150.00 USD of 1,300.00 USD)."
    )


@pytest.mark.django_db
def test_amounts_of_two_currencies_stay_apart(acme: Account) -> None:
    subscribe(acme)
    spending(acme, SUNDAY)
    add_source(acme, daily(JANUARY, SUNDAY, 3, currency="EUR", service="Mail"), name="Euros")

    with at(MONDAY):
        detect_if_due(acme)
        (sent,) = services.evaluate(acme)

    facts = {fact["label"]: fact["value"] for fact in sent.message["facts"]}
    assert sent.message["title"] == "'Acme': 147.00 USD and 21.00 EUR in the week of 2026-03-16"
    assert facts["Total in EUR"] == "21.00 EUR · 0.00 EUR (0.0 %)"


@pytest.mark.django_db
def test_a_subscription_that_is_made_on_its_day_waits_for_the_next(acme: Account) -> None:
    spending(acme, date(2026, 3, 29))

    with at(MONDAY, hour=5):
        subscribe(acme)
        assert detect_and_evaluate(acme) == []
    with at(date(2026, 3, 30)):
        assert detect_and_evaluate(acme) == ["147.00 USD in the week of 2026-03-23"]


@pytest.mark.django_db
def test_a_digest_of_a_pause_is_not_sent_after_it(acme: Account) -> None:
    spending(acme, SUNDAY)
    subscription = subscribe(acme)
    services.pause_alert_subscription(subscription=subscription, actor=ACTOR)

    with at(MONDAY):
        assert detect_and_evaluate(acme) == []
    with at(date(2026, 3, 24)):
        services.resume_alert_subscription(subscription=subscription, actor=ACTOR)
        assert detect_and_evaluate(acme) == []


@pytest.mark.django_db
def test_channels_with_the_same_digest_get_the_same(acme: Account) -> None:
    channel(acme, "Chat")
    subscribe(acme)
    subscribe(acme, channel="Chat")
    spending(acme, SUNDAY)

    with at(MONDAY):
        assert len(detect_and_evaluate(acme)) == 2

    rows: list[Any] = list(AlertDelivery.objects.values_list("message", flat=True))
    assert rows[0] == rows[1]

"""Alerts of the demo: made once, through the services, and sent without a word on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.demo.alerts import ensure_alerts, send_alerts
from finops.insights.anomalies.services import detect_if_due
from finops.lib import clock
from tests.cast import Cast
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import add_source

pytestmark = pytest.mark.django_db
ACTOR = Actor.command("load_demo")


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope with a bill and two budgets, on Monday 23 March 2026."""
    account = cast.account
    with account_scope(account), clock.frozen(datetime(2026, 3, 23, 12, tzinfo=UTC)):
        add_source(account, daily_cost(date(2026, 1, 1), date(2026, 3, 22), 10))
        create_budget(account, "Tight", 100)
        create_budget(account, "Roomy", 10_000)
        yield account


def test_the_demo_has_alerts_and_what_they_sent(acme: Account, capfd: pytest.CaptureFixture[str]) -> None:
    assert ensure_alerts(acme, ACTOR)
    detect_if_due(acme)

    sent = send_alerts(acme)

    titles = sorted(row.message["title"] for row in AlertDelivery.objects.all())
    assert titles == [
        "'Acme': $70.00 in the week of Mar 16",
        "'Acme': budget 'Tight' is at 220%",
        "'Acme': budget 'Tight' is forecast to end at 310%",
    ]
    assert sent == 3
    assert {row.status for row in AlertDelivery.objects.all()} == {"delivered"}
    assert "Tight" not in capfd.readouterr().out


def test_a_second_load_adds_nothing(acme: Account) -> None:
    ensure_alerts(acme, ACTOR)
    detect_if_due(acme)
    send_alerts(acme)
    before = AlertChannel.objects.count(), AlertSubscription.objects.count(), AlertDelivery.objects.count()

    assert not ensure_alerts(acme, ACTOR)
    assert send_alerts(acme) == 0

    assert before == (
        AlertChannel.objects.count(),
        AlertSubscription.objects.count(),
        AlertDelivery.objects.count(),
    )

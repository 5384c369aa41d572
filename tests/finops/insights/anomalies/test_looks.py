"""Looking at an account's bills: what is kept, what stays the same, what people's words do."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from accounts.models import Account
from finops.insights.services import detect_if_due, due_accounts
from tests.finops.costs.rows import add_source, cost, put
from tests.finops.insights.anomalies.bills import LAST, SPIKE, bill, look, steady, with_extra


def test_a_spike_is_found_with_its_exact_money(acme: Account) -> None:
    add_source(acme, bill(with_extra(SPIKE, SPIKE + timedelta(days=1), "300.000000000000000001")))

    (found,) = look(acme)

    days = [SPIKE, SPIKE + timedelta(days=1)]
    assert (found.first_day, found.last_day, found.kind, found.state) == (*days, "spike", "open")
    assert found.actual == sum(steady(day) for day in days) + Decimal("600.000000000000000002")
    assert found.impact == found.actual - found.expected
    assert abs(found.impact - 600) < 20
    assert (found.value, found.dimension, found.currency, found.ongoing) == (
        "Compute",
        "service",
        "USD",
        False,
    )
    assert found.severity == "high"


def test_it_is_due_once_for_each_change_and_day(acme: Account) -> None:
    source = add_source(acme, bill())
    assert due_accounts() == [acme.pk]
    assert detect_if_due(acme)
    assert due_accounts() == []
    assert not detect_if_due(acme)

    put(acme, source, [cost(LAST, 100, service="Compute")])

    assert due_accounts() == [acme.pk]

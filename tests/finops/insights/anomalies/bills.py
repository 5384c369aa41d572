"""Bills with a story, for the tests of anomalies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.insights.anomalies.services import detect_if_due
from finops.insights.models import Anomaly
from tests.factories.costs import Line, cost

LAST = date(2026, 3, 19)
FIRST = LAST - timedelta(days=239)
SPIKE = date(2026, 3, 10)

Amount = Callable[[date], str | Decimal | int]


def weekday_cost(day: date) -> Decimal:
    """A hundred or so on weekdays, sixty at weekends, never twice the same."""
    return Decimal(100 if day.weekday() < 5 else 60) + Decimal(day.toordinal() * 7 % 11) / 10


def bill(
    amount: Amount = weekday_cost, *, first: date = FIRST, last: date = LAST, **columns: Any
) -> list[Line]:
    """A line a day; the amount by day."""
    days = [first + timedelta(days=index) for index in range((last - first).days + 1)]
    values = {"service": "Compute", "region": "eu-west-1", **columns}
    return [cost(day, amount(day), **values) for day in days if amount(day)]


def with_extra(first: date, last: date, extra: str, base: Amount = weekday_cost) -> Amount:
    """`extra` more on the days from first to last."""
    return lambda day: Decimal(base(day)) + (Decimal(extra) if first <= day <= last else 0)


def run_detection(account: Account) -> list[Anomaly]:
    """Look, if that is due, and give what is known then."""
    detect_if_due(account)
    return list(Anomaly.objects.select_related("source").order_by("first_day", "pk"))

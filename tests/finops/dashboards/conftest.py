"""An account with something for every type of widget, and its pages."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.budgets.models import Budget
from finops.unitcosts.models import UnitMetric
from tests.factories.costs import add_source, cost
from tests.factories.usage import event, push_events

URL = "/a/acme/dashboards/"


@pytest.fixture
def payer(acme: Account) -> Account:
    """Seventy days of EC2 in two regions, and of requests."""
    first = date(2026, 1, 8)
    days = [first + timedelta(days=count) for count in range(70)]
    lines = [
        cost(day, amount, service="EC2", region=region)
        for day in days
        for region, amount in (("eu", "2.50"), ("us", "7.25"))
    ]
    add_source(acme, lines)
    push_events(acme, [event(day, "globex", "10", metric="requests") for day in days])
    UnitMetric.objects.create(name="Per request", usage_metric="requests")
    CostTag.objects.create(key="env", rules=[])
    Budget.objects.create(name="Everything", amount=500, currency="USD")
    return acme

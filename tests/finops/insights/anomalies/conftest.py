from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.insights.models import Anomaly
from finops.lib import clock
from tests.cast import Cast
from tests.finops.costs.rows import add_source
from tests.finops.insights.anomalies.bills import NOON, SPIKE, bill, look, with_extra


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 20 March 2026."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def spike(acme: Account) -> Anomaly:
    """Acme's one anomaly: 300 USD more on two days, in one resource."""
    amount = with_extra(SPIKE, SPIKE + timedelta(days=1), "0")
    lines = bill(amount, resource_id="vm-1", usage_type="hours")
    extra = [
        {**line, "resource_id": "vm-2", "billed_cost": 300, "effective_cost": 300}
        for line in lines
        if SPIKE <= line["charge_date"] <= SPIKE + timedelta(days=1)
    ]
    add_source(acme, [*lines, *extra])
    (anomaly,) = look(acme)
    return anomaly

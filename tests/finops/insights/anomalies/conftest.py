from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Account
from finops.insights.models import Anomaly
from tests.factories.costs import add_source
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra


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
    (anomaly,) = run_detection(acme)
    return anomaly

"""Rows of insights."""

from __future__ import annotations

import secrets
from datetime import date

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.insights.models import SavingsDismissal
from tests.factories.anomalies import add_anomaly
from tests.isolation.rows.costs import cost_source


def anomaly(account: Account) -> str:
    with account_scope(account):
        return add_anomaly(
            account,
            CostSource.objects.get(pk=cost_source(account)),
            key=f"anom_{secrets.token_hex(8)}",
            value="walk",
            currency="USD",
            kind="spike",
            severity="low",
            first_day=date(2026, 1, 1),
            last_day=date(2026, 1, 2),
            actual=3,
            expected=1,
            impact=2,
            month_end_impact=2,
            days=[["2026-01-01", "3", "1", "0", "2"]],
        ).key


def savings_dismissal(account: Account) -> str:
    with account_scope(account):
        return SavingsDismissal.objects.create(
            key=f"sav_{secrets.token_hex(8)}",
            status="dismissed",
            reason="walk",
            rule="volume_type",
            title="walk",
            currency="USD",
            monthly_cost=1,
        ).key

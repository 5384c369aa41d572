"""Rows of unit costs."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.unitcosts.models import CustomerAlias, UnitMetric, UsageDimensionMapping


def customer_alias(account: Account) -> int:
    with account_scope(account):
        return CustomerAlias.objects.create(
            account=account, value=secrets.token_hex(4), customer_id="walk"
        ).pk


def usage_dimension_mapping(account: Account) -> int:
    with account_scope(account):
        return UsageDimensionMapping.objects.create(
            account=account, cost_dimension=f"tag:{secrets.token_hex(4)}", usage_dimension="region"
        ).pk


def unit_metric(account: Account) -> int:
    with account_scope(account):
        name = f"walk {secrets.token_hex(4)}"
        return UnitMetric.objects.create(account=account, name=name, usage_metric="requests").pk

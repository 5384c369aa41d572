"""Rows of cost access."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.cost_access.models import CostAccessLimit


def cost_access_limit(account: Account) -> int:
    with account_scope(account):
        return CostAccessLimit.objects.create(
            account=account,
            name=f"walk {secrets.token_hex(4)}",
            alternatives=[[{"dimension": "service", "op": "in", "values": ["EC2"]}]],
        ).pk

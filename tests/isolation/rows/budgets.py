"""Rows of budgets."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.budgets.models import Budget


def budget(account: Account) -> int:
    with account_scope(account):
        return Budget.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", amount=100, currency="USD"
        ).pk

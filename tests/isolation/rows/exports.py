"""Rows of account exports."""

from __future__ import annotations

from accounts.models import Account
from accounts.scoping import account_scope
from finops.exports.models import AccountExport


def account_export(account: Account) -> int:
    with account_scope(account):
        return AccountExport.objects.create(account=account).pk

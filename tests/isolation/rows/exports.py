"""Rows of account exports."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Account
from accounts.scoping import account_scope
from finops.exports.models import AccountExport


def _account_export(account: Account) -> int:
    with account_scope(account):
        return AccountExport.objects.create(account=account).pk


MAKERS: dict[str, Callable[[Account], object]] = {
    "export_id": _account_export,
}

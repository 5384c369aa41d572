"""Rows of data exports."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from accounts.models import Account
from accounts.scoping import account_scope
from finops.data_exports.models import DataExport, DataExportRun


def _data_export(account: Account) -> int:
    with account_scope(account):
        return DataExport.objects.create(
            account=account,
            name=f"walk-{secrets.token_hex(4)}",
            destination="s3",
            external_id=secrets.token_hex(4),
        ).pk


def _data_export_run(account: Account) -> int:
    export_id = _data_export(account)
    with account_scope(account):
        return DataExportRun.objects.create(account=account, export_id=export_id).pk


MAKERS: dict[str, Callable[[Account], object]] = {
    "data_export_id": _data_export,
    "run_id": _data_export_run,
}

"""Rows of data exports."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.data_exports.models import DataExport, DataExportRun


def data_export(account: Account) -> int:
    with account_scope(account):
        return DataExport.objects.create(
            account=account,
            name=f"walk-{secrets.token_hex(4)}",
            destination="s3",
            external_id=secrets.token_hex(4),
        ).pk


def data_export_run(account: Account) -> int:
    export_id = data_export(account)
    with account_scope(account):
        return DataExportRun.objects.create(account=account, export_id=export_id).pk

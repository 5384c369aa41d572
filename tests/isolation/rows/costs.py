"""Rows of costs."""

from __future__ import annotations

import secrets
from datetime import date

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import ClosedMonth, CostImport, CostSource, InvoiceTotal, SavedView


def cost_source(account: Account) -> int:
    with account_scope(account):
        return CostSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def cost_import(account: Account) -> int:
    with account_scope(account):
        return CostImport.objects.create(
            account=account, source_id=cost_source(account), file_name="walk.csv"
        ).pk


def invoice_total(account: Account) -> int:
    with account_scope(account):
        return InvoiceTotal.objects.create(
            account=account,
            issuer="walk",
            invoice_id=secrets.token_hex(4),
            billing_period=date(2026, 5, 1),
            currency="USD",
            amount=1,
        ).pk


def closed_month(account: Account) -> int:
    with account_scope(account):
        month = date(2000 + secrets.randbelow(90), 1 + secrets.randbelow(12), 1)
        return ClosedMonth.objects.get_or_create(account=account, month=month)[0].pk


def saved_view(account: Account) -> int:
    with account_scope(account):
        name = f"walk {secrets.token_hex(4)}"
        return SavedView.objects.create(account=account, name=name, question={"period": "last_30_days"}).pk

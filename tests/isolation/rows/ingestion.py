"""Rows of usage."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from ingestion.models import Customer, UsageMetric, UsageSource, UsageUpload


def usage_source(account: Account) -> int:
    with account_scope(account):
        return UsageSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def usage_upload(account: Account) -> int:
    with account_scope(account):
        return UsageUpload.objects.create(
            account=account,
            source_id=usage_source(account),
            file_name="walk.csv",
            path="/nowhere",
            digest=secrets.token_hex(32),
        ).pk


def usage_metric(account: Account) -> int:
    with account_scope(account):
        return UsageMetric.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def customer(account: Account) -> int:
    with account_scope(account):
        return Customer.objects.create(account=account, customer_id=f"walk {secrets.token_hex(4)}").pk

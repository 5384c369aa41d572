"""Rows of dashboards."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.dashboards.models import Dashboard, Widget


def dashboard(account: Account) -> int:
    with account_scope(account):
        return Dashboard.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def widget(account: Account) -> int:
    with account_scope(account):
        return Widget.objects.create(
            account=account, dashboard_id=dashboard(account), order=0, type="total", x=0, y=0, w=3, h=3
        ).pk

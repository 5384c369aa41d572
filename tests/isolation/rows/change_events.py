"""Rows of change events."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventSource


def event_source(account: Account) -> int:
    with account_scope(account):
        return EventSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk

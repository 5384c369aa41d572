"""Rows of change events."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent, EventSource
from finops.lib import clock


def change_event_note(account: Account) -> int:
    with account_scope(account):
        return ChangeEvent.objects.create(
            account=account,
            origin="note",
            kind="note",
            title=f"walk {secrets.token_hex(4)}",
            occurred_at=clock.now(),
        ).pk


def event_source(account: Account) -> int:
    with account_scope(account):
        return EventSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk

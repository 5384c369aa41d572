"""Rows of change events."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventSource


def _event_source(account: Account) -> int:
    with account_scope(account):
        return EventSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


MAKERS: dict[str, Callable[[Account], object]] = {
    "event_source_id": _event_source,
}

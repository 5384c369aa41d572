"""Rows of connections."""

from __future__ import annotations

import secrets
from datetime import date, timedelta

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventSource
from finops.connections.models import CostConnection, CostPush, CostSync
from finops.lib import clock
from ingestion.models import UsageSource
from tests.isolation.rows.costs import cost_source


def cost_connection(account: Account) -> CostConnection:
    with account_scope(account):
        return CostConnection.objects.create(
            account=account,
            source_id=cost_source(account),
            connector="folder",
            external_id=secrets.token_hex(4),
        )


def synced_source(account: Account) -> int:
    return cost_connection(account).cost_source.pk


def pulled_source(account: Account) -> int:
    with account_scope(account):
        source = UsageSource.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", kind=UsageSource.Kind.PULL
        )
        CostConnection.objects.create(
            account=account,
            usage_source=source,
            connector="usage_postgresql",
            external_id=secrets.token_hex(4),
        )
    return source.pk


def pulled_event_source(account: Account) -> int:
    with account_scope(account):
        source = EventSource.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", kind=EventSource.Kind.PULL
        )
        CostConnection.objects.create(
            account=account, event_source=source, connector="github", external_id=secrets.token_hex(4)
        )
    return source.pk


def cost_sync(account: Account) -> int:
    connection = cost_connection(account)
    with account_scope(account):
        return CostSync.objects.create(account=account, connection=connection).pk


def cost_push(account: Account) -> int:
    with account_scope(account):
        return CostPush.objects.create(
            account=account,
            source_id=cost_source(account),
            month=date(2026, 5, 1),
            status="queued",
            committed_parts=1,
            committed_at=clock.now(),
            expires_at=clock.now() + timedelta(days=1),
        ).pk

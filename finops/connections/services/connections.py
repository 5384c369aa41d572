"""Connections: created with their source, changed, paused. Input is validated, and secrets are sealed.

A connection is deleted with its source (`finops.costs.services.delete_cost_source`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventSource
from finops.change_events.services.sources import create_event_source
from finops.connections.configs import entered_config, external_id_for, stored_parts
from finops.connections.connector import (
    CheckFinding,
    Contents,
    with_column_mapping,
)
from finops.connections.connectors import connector_of
from finops.connections.models import DEFAULT_INTERVAL, CostConnection, month_name
from finops.connections.services.credentials import mapping_of, secrets_of, store_config
from finops.connections.services.interactive_calls import run_connection_test
from finops.connections.services.syncs import cancel_queued_sync, queue_sync
from finops.costs.services import create_cost_source
from finops.lib import clock
from ingestion.models import UsageSource
from ingestion.services.sources import create_usage_source


@transaction.atomic
def create_connection(
    *,
    account: Account,
    actor: Actor,
    name: str,
    connector: str,
    values: Mapping[str, object],
    first_month: date | None = None,
    interval_minutes: int = DEFAULT_INTERVAL,
    external_id: str | None = None,
) -> CostConnection:
    """Create a source with this name for the connector's contents, its connection, and its first sync, which starts on commit.

    `values` are the fields of the connector's config. Raises UserError for an invalid field and for an external id of another
    account; ValidationError for the name, the interval or the month.
    """
    external_id = external_id_for(account, external_id)
    config = entered_config(connector_of(connector), values, external_id=external_id)
    row = CostConnection(
        account=account,
        **_new_source(connector_of(connector).contents, account=account, name=name, actor=actor),
        connector=connector,
        external_id=external_id,
        interval_minutes=interval_minutes,
        first_month=first_month,
        created_by=actor.user,
    )
    store_config(row, config)
    with account_scope(account):
        row.full_clean()
        row.save(force_insert=True)
        _record(
            row, actor, "create", {"connector": connector, **_snapshot(row), "fields": sorted(row.config)}
        )
        queue_sync(connection=row, actor=actor)
    return row


@transaction.atomic
def change_connection(
    *,
    connection: CostConnection,
    actor: Actor,
    values: Mapping[str, object],
    interval_minutes: int,
    first_month: date | None,
) -> CostConnection:
    """Change settings from the next sync on. A running sync continues with its settings, so that a new secret causes no gap.

    An empty secret keeps the stored one. Months are read again when a setting that is not a secret changes. Raises UserError for an
    invalid field; ValidationError for the interval or the month.
    """
    with account_scope(connection.account):
        row = (
            CostConnection.objects.select_for_update(of=("self",))
            .select_related("source", "usage_source", "event_source")
            .get(pk=connection.pk)
        )
        before, public_before, secrets_before = _snapshot(row), row.config, secrets_of(row)
        config = entered_config(
            connector_of(row.connector),
            values,
            external_id=row.external_id,
            stored_secrets=secrets_before,
            stored_config=public_before,
        )
        store_config(row, config, secrets_before)
        row.interval_minutes, row.first_month = interval_minutes, first_month
        row.next_sync_at = min(row.next_sync_at, clock.now())
        row.full_clean()
        row.save()
        fields = _changed_names(public_before, row.config)
        fields += _changed_names(secrets_before or {}, stored_parts(config)[1])
        changes = {key: [before[key], value] for key, value in _snapshot(row).items() if before[key] != value}
        _record(row, actor, "change", {"fields": sorted(fields), **changes})
    return row


@transaction.atomic
def pause_connection(*, connection: CostConnection, actor: Actor) -> CostConnection:
    """Pause scheduled syncs. A queued sync is canceled; a running one continues. Idempotent."""
    return _pause(connection, actor, is_paused=True)


@transaction.atomic
def resume_connection(*, connection: CostConnection, actor: Actor) -> CostConnection:
    """Resume syncs, the first at once. Idempotent."""
    return _pause(connection, actor, is_paused=False)


def check_config(
    *,
    account: Account,
    connector: str,
    values: Mapping[str, object],
    connection: CostConnection | None = None,
    external_id: str | None = None,
    in_child: bool = False,
) -> list[CheckFinding]:
    """Run *Test connection* with these values; empty secrets are those of `connection`. Nothing is stored. `in_child` limits time
    and memory. Raises UserError for an invalid field, and before the test if another one of the account is in progress."""
    if connection is not None and connection.account_id != account.pk:
        raise ValueError("The connection belongs to another account.")
    external_id = connection.external_id if connection else external_id_for(account, external_id)
    stored = secrets_of(connection) if connection else None
    kind = connector_of(connector)
    config = entered_config(
        kind,
        values,
        external_id=external_id,
        stored_secrets=stored,
        stored_config=connection.config if connection else None,
    )
    if connection is not None:
        config = with_column_mapping(config, mapping_of(connection))
    return run_connection_test(kind, config, account=account, in_child=in_child)


def _new_source(contents: Contents, *, account: Account, name: str, actor: Actor) -> dict[str, Any]:
    if contents == Contents.USAGE:
        kind = UsageSource.Kind.PULL.value
        return {"usage_source": create_usage_source(account=account, name=name, actor=actor, kind=kind)}
    if contents == Contents.CHANGE_EVENTS:
        kind = EventSource.Kind.PULL.value
        return {"event_source": create_event_source(account=account, name=name, actor=actor, kind=kind)}
    return {"source": create_cost_source(account=account, name=name, actor=actor)}


def _pause(connection: CostConnection, actor: Actor, *, is_paused: bool) -> CostConnection:
    with account_scope(connection.account):
        row = (
            CostConnection.objects.select_for_update(of=("self",))
            .select_related("source", "usage_source", "event_source")
            .get(pk=connection.pk)
        )
        if (row.paused_at is not None) == is_paused:
            return row
        row.paused_at = clock.now() if is_paused else None
        if is_paused:
            cancel_queued_sync(row)
        else:
            row.next_sync_at = clock.now()
        row.save(update_fields=["paused_at", "next_sync_at"])
        _record(row, actor, "pause" if is_paused else "resume", {})
    return row


def _changed_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in {*before, *after} if before.get(name) != after.get(name)]


def _snapshot(row: CostConnection) -> dict[str, Any]:
    return {
        "interval_minutes": row.interval_minutes,
        "first_month": month_name(row.first_month) if row.first_month else None,
    }


def _record(row: CostConnection, actor: Actor, action: str, detail: dict[str, Any]) -> None:
    """Record the names of changed fields in the audit log, never their values."""
    audit.record(
        account=row.account,
        actor=actor,
        action=f"cost_connection.{action}",
        target=row.target.name,
        detail=detail,
    )

"""Data exports: created, changed, paused and deleted; input is validated, and secrets are sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.configs import entered_config, external_id_for, stored_parts
from finops.connections.connector import CheckFinding
from finops.connections.services.credentials import secrets_of, store_config
from finops.connections.services.interactive_calls import run_connection_test
from finops.data_exports.columns import MANDATORY
from finops.data_exports.destinations import destination_of
from finops.data_exports.models import DataExport, DataExportMonth
from finops.data_exports.services.runs import queue_run
from finops.lib import clock
from finops.lib.cost_access import require_whole_account
from finops.lib.errors import UserError


@transaction.atomic
def create_data_export(
    *,
    account: Account,
    actor: Actor,
    name: str,
    destination: str,
    values: Mapping[str, object],
    schedule: str = DataExport.Schedule.DAILY,
    excluded_columns: Sequence[str] = (),
    with_splits: bool = True,
    external_id: str | None = None,
) -> DataExport:
    """Create an export, whose first run begins on commit. `values` are the fields of the destination's config. Raises
    UserError on the field that is wrong, ValidationError for name, schedule and columns, LimitedCostAccess for a limited
    reader."""
    require_whole_account()
    external_id = external_id_for(account, external_id)
    config = entered_config(destination_of(destination), values, external_id=external_id)
    row = DataExport(
        account=account,
        name=name,
        destination=destination,
        external_id=external_id,
        schedule=schedule,
        excluded_columns=_check_columns(excluded_columns),
        with_splits=with_splits,
        created_by_id=actor.creator_id,
    )
    store_config(row, config)
    with account_scope(account):
        row.full_clean()
        row.save(force_insert=True)
        _record(row, actor, "create", {"destination": destination, **_snapshot(row)})
        queue_run(export=row, actor=actor)
    return row


@transaction.atomic
def change_data_export(
    *,
    export: DataExport,
    actor: Actor,
    values: Mapping[str, object],
    schedule: str,
    excluded_columns: Sequence[str] = (),
    with_splits: bool = True,
) -> DataExport:
    """Change the settings, from the next run on. An empty secret keeps the stored one. Every month is written to a new
    bucket or folder; files in the earlier one stay. Raises as `create_data_export`."""
    require_whole_account()
    with account_scope(export.account):
        row = _lock_export(export)
        before, public_before, secrets_before = _snapshot(row), row.config, secrets_of(row)
        config = entered_config(
            destination_of(row.destination),
            values,
            external_id=row.external_id,
            stored_secrets=secrets_before,
            stored_config=public_before,
        )
        store_config(row, config, secrets_before)
        row.schedule, row.with_splits = schedule, with_splits
        row.excluded_columns = _check_columns(excluded_columns)
        row.next_run_at = min(row.next_run_at, clock.now())
        row.full_clean()
        row.save()
        fields = [
            name for name in {*public_before, *row.config} if public_before.get(name) != row.config.get(name)
        ]
        if fields:
            DataExportMonth.objects.filter(export=row).delete()
        if stored_parts(config)[1] != secrets_before:
            fields.append("credentials")
        changes = {key: [before[key], value] for key, value in _snapshot(row).items() if before[key] != value}
        _record(row, actor, "change", {"fields": sorted(fields), **changes})
    return row


@transaction.atomic
def pause_data_export(*, export: DataExport, actor: Actor) -> DataExport:
    """Stop scheduled runs; a running one continues. Safe to repeat."""
    return _pause(export, actor, is_paused=True)


@transaction.atomic
def resume_data_export(*, export: DataExport, actor: Actor) -> DataExport:
    """Resume scheduled runs, with one at once. Safe to repeat."""
    return _pause(export, actor, is_paused=False)


@transaction.atomic
def delete_data_export(*, export: DataExport, actor: Actor, with_files: bool = False) -> None:
    """Delete the export with its history. Its files stay, unless `with_files`: then the next run deletes them, and the
    export after them."""
    require_whole_account()
    with account_scope(export.account):
        row = _lock_export(export)
        if not with_files:
            _record(row, actor, "delete", {"with_files": False})
            row.delete()
            return
        row.removal_requested_at = row.removal_requested_at or clock.now()
        row.paused_at, row.next_run_at = None, clock.now()
        row.save(update_fields=["removal_requested_at", "paused_at", "next_run_at"])
        _record(row, actor, "delete", {"with_files": True})
        if not row.runs.filter(status__in=["queued", "running"]).exists():
            queue_run(export=row, actor=actor)


def check_destination(
    *,
    account: Account,
    destination: str,
    values: Mapping[str, object],
    export: DataExport | None = None,
    external_id: str | None = None,
    in_child: bool = False,
) -> list[CheckFinding]:
    """*Test connection*: write, list and delete an object with these values, and with the stored secrets of `export` where they are empty. Nothing is stored. `in_child` limits time and memory. Raises UserError on a field that is wrong, and while another test of the account is running."""
    external_id = export.external_id if export else external_id_for(account, external_id)
    kind = destination_of(destination)
    stored = secrets_of(export) if export else None
    config = entered_config(
        kind,
        values,
        external_id=external_id,
        stored_secrets=stored,
        stored_config=export.config if export else None,
    )
    return run_connection_test(kind, config, account=account, in_child=in_child)


def _check_columns(names: Sequence[str]) -> list[str]:
    required = sorted(MANDATORY.intersection(names))
    if required:
        raise UserError(f"{required[0]} cannot be left out.", field="excluded_columns")
    return sorted(set(names))


def _pause(export: DataExport, actor: Actor, *, is_paused: bool) -> DataExport:
    with account_scope(export.account):
        row = _lock_export(export)
        if (row.paused_at is not None) == is_paused:
            return row
        row.paused_at = clock.now() if is_paused else None
        if not is_paused:
            row.next_run_at = clock.now()
        row.save(update_fields=["paused_at", "next_run_at"])
        _record(row, actor, "pause" if is_paused else "resume", {})
    return row


def _lock_export(export: DataExport) -> DataExport:
    return DataExport.objects.select_for_update(of=("self",)).select_related("account").get(pk=export.pk)


def _snapshot(row: DataExport) -> dict[str, Any]:
    return {
        "schedule": str(row.schedule),
        "excluded_columns": row.excluded_columns,
        "with_splits": row.with_splits,
    }


def _record(row: DataExport, actor: Actor, action: str, detail: dict[str, Any]) -> None:
    """Record names of fields, never their values."""
    audit.record(
        account=row.account, actor=actor, action=f"data_export.{action}", target=row.name, detail=detail
    )

"""Status of the account's connections, and progress of their syncs."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

import msgspec
from django.db.models import Count, OuterRef, Q, Subquery

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.connectors import connectors
from finops.connections.models import (
    UNFINISHED_STATUSES,
    CostConnection,
    CostPush,
    CostSync,
    SyncPeriod,
    month_name,
)
from finops.connections.remaining_time import RemainingTime, remaining_time
from finops.connections.schemas import PeriodResult
from finops.costs.models import CostImport
from finops.lib import clock

__all__ = [
    "ConnectionOverview",
    "ConnectionStatus",
    "RemainingTime",
    "SyncDetail",
    "connection_overview",
    "connections_overview",
    "every_connection_overview",
    "months_to_read_again",
    "newest_pushes",
    "push_note",
    "push_status",
    "push_with_parts",
    "remaining_time",
    "sync_detail",
    "uploaded_months",
    "usage_connections_overview",
]

ConnectionStatus = Literal["healthy", "syncing", "failing", "paused"]


@dataclass(frozen=True)
class ConnectionOverview:
    """A connection in lists. `last_error` is the error of the newest ended sync, empty if that sync succeeded."""

    connection: CostConnection
    connector_title: str
    status: ConnectionStatus
    last_success_at: datetime | None
    next_sync_at: datetime | None
    failing_since: datetime | None
    last_error: str
    months: int
    sync: CostSync | None
    """The newest sync."""
    remaining: RemainingTime | None
    """Remaining time of an unfinished sync."""


@dataclass(frozen=True)
class SyncDetail:
    """A sync with the result of each month, newest first."""

    sync: CostSync
    periods: list[PeriodResult]
    seconds: float | None
    """Duration, so far if the sync has not ended; None before its start."""
    remaining: RemainingTime | None
    """None after the end."""


def connections_overview(account: Account) -> list[ConnectionOverview]:
    """Connections of the account that fill a cost source, by name. Three queries, whatever their number."""
    return _overviews(account, Q(source__isnull=False))


def every_connection_overview(account: Account) -> list[ConnectionOverview]:
    """All connections of the account: of cost, usage and change events. Three queries."""
    return _overviews(account, Q())


def usage_connections_overview(account: Account) -> list[ConnectionOverview]:
    """Connections of the account that fill a usage source. Three queries."""
    return _overviews(account, Q(usage_source__isnull=False))


def _overviews(account: Account, which: Q) -> list[ConnectionOverview]:
    with account_scope(account):
        syncs = CostSync.objects.filter(connection=OuterRef("pk")).order_by("-pk")
        ended = syncs.exclude(status__in=UNFINISHED_STATUSES)
        rows = (
            CostConnection.objects.filter(which)
            .select_related("source", "usage_source", "event_source")
            .annotate(
                newest_id=Subquery(syncs.values("pk")[:1]),
                newest_error=Subquery(ended.values("error")[:1]),
                month_count=Count("periods"),
            )
        )
        connections = list(rows.order_by("source__name"))
        by_id = CostSync.objects.defer("periods").in_bulk(
            [row.newest_id for row in connections if row.newest_id]
        )
    return [
        _overview(row, by_id.get(row.newest_id), row.newest_error or "", row.month_count)
        for row in connections
    ]


def uploaded_months(source_ids: Collection[int]) -> dict[int, dict[date, datetime]]:
    """Return by source the billing months that an import outside of syncs has changed, with the time. The account must be in
    scope. One query."""
    rows = CostImport.objects.filter(source__in=source_ids, status=CostImport.Status.DONE)
    rows = rows.exclude(origin=CostImport.Origin.SYNC).order_by("finished_at")
    changed: dict[int, dict[date, datetime]] = {}
    for source_id, replaced, lines, at in rows.values_list(
        "source", "months", "report__months", "finished_at"
    ):
        if at is not None:
            names = {*replaced, *(each["month"] for each in lines or ())}
            changed.setdefault(source_id, {}).update({date.fromisoformat(f"{name}-01"): at for name in names})
    return changed


def months_to_read_again(connections: Collection[CostConnection]) -> dict[int, list[date]]:
    """Return by connection the synced months that an import outside of syncs has changed since; the next sync reads them
    again. The account must be in scope. Two queries."""
    by_source = {each.source_id: each.pk for each in connections if each.source_id is not None}
    changed = uploaded_months(by_source)
    periods = SyncPeriod.objects.filter(connection__in=by_source.values()).select_related("cost_import")
    source_of = {pk: source_id for source_id, pk in by_source.items()}
    months: dict[int, list[date]] = {}
    for period in periods.order_by("month"):
        at = changed.get(source_of[period.connection_id], {}).get(period.month)
        job = period.cost_import
        # Imports of a source never overlap.
        if at is not None and at > ((job.finished_at if job else None) or period.synced_at):
            months.setdefault(period.connection_id, []).append(period.month)
    return months


def connection_overview(connection: CostConnection) -> ConnectionOverview:
    """Return the overview of one connection, whatever its contents. Three queries."""
    (overview,) = _overviews(connection.account, Q(pk=connection.pk))
    return overview


def sync_detail(sync: CostSync) -> SyncDetail:
    """Return the listed, skipped, read and replaced months of a sync. No query."""
    end = sync.finished_at or clock.now()
    return SyncDetail(
        sync=sync,
        periods=msgspec.convert(sync.periods, list[PeriodResult]),
        seconds=(end - sync.started_at).total_seconds() if sync.started_at else None,
        remaining=remaining_time(sync),
    )


def _overview(row: CostConnection, sync: CostSync | None, error: str, months: int) -> ConnectionOverview:
    kind = connectors().get(row.connector)
    is_syncing = sync is not None and sync.status in UNFINISHED_STATUSES
    status: ConnectionStatus = "failing" if row.failures else "healthy"
    if is_syncing:
        status = "syncing"
    elif row.paused_at is not None:
        status = "paused"
    return ConnectionOverview(
        connection=row,
        connector_title=kind.title if kind else row.connector,
        status=status,
        last_success_at=row.last_success_at,
        next_sync_at=None if row.paused_at else row.next_sync_at,
        failing_since=row.failing_since,
        last_error=error,
        months=months,
        sync=sync,
        remaining=remaining_time(sync) if sync else None,
    )


PUSHES_SHOWN: Final = 50


def newest_pushes(*, account: Account, source_id: int) -> list[CostPush]:
    """The newest 50 pushes of a source. One query."""
    with account_scope(account):
        return list(CostPush.objects.filter(source=source_id)[:PUSHES_SHOWN])


def push_with_parts(*, account: Account, source_id: int, public_id: uuid.UUID) -> CostPush | None:
    """A push of a source with its parts. Two queries."""
    with account_scope(account):
        rows = CostPush.objects.filter(source=source_id, public_id=public_id)
        return rows.prefetch_related("parts").first()


def push_note(push: CostPush) -> str:
    """Return a note about the upload that a committed push replaces or has replaced; empty if there is none. The
    account must be in scope. One query."""
    jobs = CostImport.objects.filter(
        source=push.source_id, status=CostImport.Status.DONE, months__contains=[month_name(push.month)]
    )
    if push.cost_import_id is not None:
        jobs = jobs.filter(pk__lt=push.cost_import_id)
    newest = jobs.order_by("-pk").first()
    if push.committed_at is None or newest is None or newest.origin != CostImport.Origin.UPLOAD:
        return ""
    return f"{month_name(push.month)} was last uploaded by {newest.actor_label} ({newest.file_name}): the push replaces that."


def push_status(push: CostPush) -> str:
    """Return the status of a push. An open push is expired after its day, whether or not the sweep has run."""
    is_over = push.status == CostPush.PushStatus.OPEN and push.expires_at <= clock.now()
    return "expired" if is_over else push.status

"""Runs a sync: list the months, skip unchanged ones, fetch and import the others, newest first."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from django.db import transaction

from finops.connections.connector import (
    MAX_MONTHS,
    BillMonth,
    Contents,
    SourceError,
    SourceUnavailable,
    SyncCancellation,
)
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection, CostSync, SyncPeriod, month_name
from finops.connections.queries import months_to_read_again
from finops.connections.schedule import next_retry, next_sync
from finops.connections.schemas import PeriodAction, PeriodResult
from finops.connections.services import sync_claims
from finops.connections.services.credentials import config_of
from finops.connections.services.sync_heartbeat import SyncHeartbeat, SyncTimeout
from finops.connections.services.sync_months import (
    SyncContext,
    fingerprint_of,
    list_months,
    sync_month,
    work_folders,
)
from finops.costs.mapping.document import MappingDocument
from finops.costs.services import cancel_abandoned_syncs
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.jobs import internal_error
from finops.lib.telemetry import metrics
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path

logger = logging.getLogger(__name__)

SyncStatus = CostSync.SyncStatus

MAX_UNREACHABLE: Final = 3
"""Number of consecutive months for which the provider cannot be reached before the sync fails."""

READ_ACTIONS: Final = (PeriodAction.IMPORTED, PeriodAction.EMPTIED)


def run(sync: CostSync, *, in_child: bool, list_only: bool = False) -> None:
    """Run one attempt of a claimed sync, with its account in scope. A failure is stored in its row and its
    connection's; unexpected errors are also raised. With `list_only` the months are listed: with nothing to read the
    sync is done, else it is queued again."""
    try:
        if _may_begin(sync):
            _SyncRun(sync, in_child=in_child).run(list_only=list_only)
    except sync_claims.SyncTakeover:
        logger.warning("connections: sync %s was taken up elsewhere, or went with its source", sync.pk)
    except SyncTimeout:
        _finish(sync, UserError(_TOO_LONG))
    except SyncCancellation:
        _finish(sync, None, status=SyncStatus.CANCELED)
    except UserError as error:
        _finish(sync, error)
    except Exception:
        _finish(sync, UserError(internal_error("sync", "existing data is kept")))
        raise


def _may_begin(sync: CostSync) -> bool:
    """Clean up after a process that died. Returns False while another worker still ends its import."""
    if sync.attempts > sync_claims.MAX_ATTEMPTS:
        raise UserError(
            "The sync was interrupted too often. The next one continues with the remaining months."
        )
    if sync.cancel_requested_at is not None:  # canceled while no process ran it
        raise SyncCancellation
    for folder in work_folders(sync):
        folder.unlink() if folder.is_file() else shutil.rmtree(folder, ignore_errors=True)
    if sync.connection.contents != Contents.COST:
        return True
    return cancel_abandoned_syncs(sync.connection.cost_source)


_TOO_LONG: Final = (
    "The sync exceeded the time limit. Imported months are kept; the next sync continues with the others."
)


class _SyncRun:
    def __init__(self, sync: CostSync, *, in_child: bool) -> None:
        self._sync = sync
        self._in_child = in_child
        self._progress = SyncHeartbeat(sync)
        stored = msgspec.convert(sync.periods, list[PeriodResult])
        # Results of an earlier attempt whose process died.
        self._results = {each.month: each for each in stored if each.action in READ_ACTIONS}

    def run(self, *, list_only: bool) -> None:
        sync = self._sync
        connector, config = connector_of(sync.connection.connector), config_of(sync.connection)
        bill_months = list_months(sync, connector, config, self._progress, in_child=self._in_child)
        listed = {each.month: each for each in bill_months}
        months = [listed[month] for month in sorted(listed, reverse=True)[:MAX_MONTHS]]
        to_read = self._plan(months, config.column_mapping)
        if list_only and to_read:
            sync_claims.fence.update(sync, status=SyncStatus.QUEUED, stage="waiting", heartbeat_at=None)
            return
        context = SyncContext(sync, connector, config, frozenset(listed), self._progress, self._in_child)
        error = self._read(context, to_read)
        _finish(sync, error)

    def _plan(self, months: Sequence[BillMonth], mapping: MappingDocument | None) -> list[BillMonth]:
        """Return the months to read, and record the others as unchanged."""
        sync = self._sync
        connections = [sync.connection] if sync.connection.contents == Contents.COST else []
        uploaded = months_to_read_again(connections).get(sync.connection_id, [])
        periods = SyncPeriod.objects.filter(connection=sync.connection).exclude(month__in=uploaded)
        fingerprints = dict(periods.values_list("month", "fingerprint"))
        first = sync.connection.first_month
        to_read = []
        for month in months:
            name = month_name(month.month)
            if first is not None and month.month < first:
                self._results[name] = PeriodResult(month=name, action=PeriodAction.OUT_OF_RANGE)
            elif fingerprints.get(month.month) != fingerprint_of(sync, month, mapping):
                to_read.append(month)
            elif name not in self._results:
                self._results[name] = PeriodResult(
                    month=name, action=PeriodAction.UNCHANGED, bytes=month.bytes
                )
        sync.months_listed = len(months)
        sizes = [month.bytes for month in to_read]
        sync.bytes_total = sum(sizes) if all(sizes) else 0
        self._keep()
        return to_read

    def _read(self, context: SyncContext, months: Sequence[BillMonth]) -> UserError | None:
        """Read the months; returns the first error, if any. Ends early if the provider requests a delay or cannot be reached."""
        first_error: SourceError | None = None
        unreachable = 0
        for month in months:
            outcome = sync_month(context, month)
            self._results[outcome.result.month] = outcome.result
            self._keep()
            unreachable = unreachable + 1 if isinstance(outcome.error, SourceUnavailable) else 0
            if outcome.error is None:
                continue
            first_error = first_error or _of_month(month, outcome.error)
            if outcome.error.retry_after is not None:
                first_error.retry_after = outcome.error.retry_after
            if outcome.error.retry_after is not None or unreachable >= MAX_UNREACHABLE:
                break
        return first_error

    def _keep(self) -> None:
        """Store the results so far in the row."""
        sync = self._sync
        results = [self._results[name] for name in sorted(self._results, reverse=True)]
        counts = {
            "months_unchanged": [PeriodAction.UNCHANGED],
            "months_imported": [PeriodAction.IMPORTED],
            "months_failed": [PeriodAction.FAILED],
        }
        values: dict[str, Any] = {
            name: sum(each.action in actions for each in results) for name, actions in counts.items()
        }
        sync_claims.fence.update_running(
            sync,
            **values,
            periods=msgspec.to_builtins(results),
            rows=sum(each.rows for each in results if each.action in READ_ACTIONS),
            months_listed=sync.months_listed,
            bytes_total=sync.bytes_total,
            bytes_done=sync.bytes_done,
            stage=sync.stage,
            heartbeat_at=clock.now(),
        )


def _of_month(month: BillMonth, error: SourceError) -> SourceError:
    return SourceError(f"{month_name(month.month)}: {error.message}")


def _finish(sync: CostSync, error: UserError | None, *, status: SyncStatus | None = None) -> None:
    """End the sync and set when its connection is due next. Does nothing if this attempt no longer owns it."""
    status = status or (SyncStatus.FAILED if error else SyncStatus.DONE)
    try:
        with transaction.atomic():
            connection = CostConnection.objects.select_for_update(of=("self",)).get(pk=sync.connection_id)
            _schedule(connection, status, getattr(error, "retry_after", None))
            sync_claims.fence.update(
                sync,
                status=status,
                stage="",
                error=error.message if error else "",
                heartbeat_at=clock.now(),
                finished_at=clock.now(),
            )
            if status == SyncStatus.FAILED:
                _notify(connection, sync, error)
            transaction.on_commit(lambda: metrics.SYNCS.inc(status.value))
    except (CostConnection.DoesNotExist, sync_claims.SyncTakeover):
        logger.warning("connections: sync %s went with its source", sync.pk)


def _notify(connection: CostConnection, sync: CostSync, error: UserError | None) -> None:
    """Notify of a failure, once until a sync succeeds."""
    notify(
        account=sync.account,
        kind=Notification.Kind.SYNC,
        title=f"Sync of {connection.target.name} failed",
        text=error.message if error else "",
        path=page_path(sync.account, "cost_sync", sync_id=sync.pk),
        key=f"{connection.pk}/{connection.failing_since}",
    )


def _schedule(connection: CostConnection, status: SyncStatus, retry_after: float | None) -> None:
    now, interval = clock.now(), connection.interval_minutes
    if status == SyncStatus.FAILED:
        connection.failures += 1
        connection.failing_since = connection.failing_since or now
        connection.next_sync_at = next_retry(interval, connection.failures, now, retry_after=retry_after)
    else:
        connection.next_sync_at = next_sync(connection.pk, interval, now)
    if status == SyncStatus.DONE:
        connection.failures, connection.failing_since, connection.last_success_at = 0, None, now
    connection.save(update_fields=["failures", "failing_since", "next_sync_at", "last_success_at"])

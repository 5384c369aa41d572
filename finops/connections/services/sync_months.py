"""One billing month of a sync: fetched completely into a folder, imported completely, and then recorded with its fingerprint."""

from __future__ import annotations

import errno
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from django.db import transaction

from accounts.audit import Actor
from finops.connections.connector import (
    PROVIDER_FIELD,
    BillMonth,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    MonthConflict,
    SourceError,
    SyncCancellation,
)
from finops.connections.models import CostSync, SyncPeriod, month_name
from finops.connections.schemas import PeriodAction, PeriodResult, StoredMonth
from finops.connections.services import event_months, sync_claims, usage_months
from finops.connections.services.child_answers import BROKEN, NO_SPACE, uploads
from finops.connections.services.month_fetch import fetch_in_child
from finops.connections.services.page_caches import page_cache_file
from finops.connections.services.source_listings import list_source_months, list_source_months_in_child
from finops.connections.services.sync_heartbeat import SyncHeartbeat
from finops.connections.transports.page_cache import use_page_cache
from finops.costs.focus.normalise import FocusFile
from finops.costs.import_decision import Decision
from finops.costs.mapping.document import MappingDocument, as_json
from finops.costs.models import CostImport
from finops.costs.services import import_files
from finops.lib import clock, disk
from finops.lib.errors import UserError
from finops.lib.sentences import join_with_and

logger = logging.getLogger(__name__)

MAX_FETCHES: Final = 3
"""Maximum number of fetches of a month that changes while it is read."""

_CONFLICT: Final = "The files changed during three reads. The next sync tries again."


@dataclass(frozen=True)
class SyncContext:
    """Context shared by the months of a sync."""

    sync: CostSync
    connector: Connector[Any]
    config: ConnectorConfig
    listed: frozenset[date]
    progress: SyncHeartbeat
    in_child: bool

    @property
    def actor(self) -> Actor:
        return Actor(label=self.sync.actor_label or "Scheduled sync", user=self.sync.actor_user)


@dataclass(frozen=True)
class MonthOutcome:
    """Result of a month; `error` if it failed, with the delay that the provider requested."""

    result: PeriodResult
    error: SourceError | None = None


def fingerprint_of(sync: CostSync, month: BillMonth, mapping: MappingDocument | None) -> str:
    """Return the fingerprint of an imported month: a digest of the connector, its settings without secrets, the
    column mapping, and the listing's fingerprint. With other settings or another mapping every month is read again;
    another display name of the provider does not change it."""
    config = {name: value for name, value in sync.connection.config.items() if name != PROVIDER_FIELD}
    parts: list[object] = [sync.connection.connector, config, month.fingerprint]
    if mapping is not None:
        parts.append(as_json(mapping))
    return sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def list_months(
    sync: CostSync,
    connector: Connector[Any],
    config: ConnectorConfig,
    progress: SyncHeartbeat,
    *,
    in_child: bool,
    month: date | None = None,
) -> list[BillMonth]:
    """List the provider's months, or one of them. Raises SourceError and its subclasses, and SyncCancellation."""
    with page_cache_file(sync, connector) as pages:
        if not in_child:
            with use_page_cache(pages):
                return list_source_months(connector, config, month)
        answer = uploads() / f"sync-{sync.connection_id}-{sync.pk}-{sync.attempts}.listing"
        name, check = f"cost listing {sync.pk}", progress.check
        return list_source_months_in_child(
            connector, config, month, answer=answer, name=name, progress=check, pages=pages
        )


def sync_month(context: SyncContext, month: BillMonth) -> MonthOutcome:
    """Fetch and import a month. Errors are in the result. Raises SyncCancellation when the sync must end, and errors
    of the database."""
    started = time.monotonic()
    context.progress.begin_month(month)
    try:
        with _month_folder(context.sync, month) as folder:
            month, files, notes = _fetch(context, month, folder)
            if context.connector.contents != Contents.COST:
                return _store(context, month, files, notes, started)
            job = _import(context, month, files)
        _remember(context.sync, month, job.rows, context.config.column_mapping, job)
    except SyncCancellation:
        raise
    except UserError as error:
        source_error = error if isinstance(error, SourceError) else SourceError(error.message)
        return MonthOutcome(
            _failure(month, started, error.message, context.progress.fail_month()), source_error
        )
    except Exception as error:
        context.progress.check()  # no error is reported if the source was deleted meanwhile
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        logger.exception("connections: %s of sync %s failed", month_name(month.month), context.sync.pk)
        text = NO_SPACE if is_full else BROKEN
        return MonthOutcome(_failure(month, started, text, context.progress.fail_month()), SourceError(text))
    context.progress.end_month()
    return MonthOutcome(
        PeriodResult(
            month=month_name(month.month),
            action=PeriodAction.IMPORTED if job.rows else PeriodAction.EMPTIED,
            rows=job.rows,
            bytes=sum(file["bytes"] for file in job.files),
            files=len(job.files),
            seconds=round(time.monotonic() - started, 3),
            import_id=job.pk,
            note=" ".join([*notes, *_other_months(month, job)]),
        )
    )


def work_folders(sync: CostSync) -> Iterator[Path]:
    """Return the work folders of a connection's syncs, including those left by a killed process."""
    yield from uploads().glob(f"sync-{sync.connection_id}-*")


@contextmanager
def _month_folder(sync: CostSync, month: BillMonth) -> Iterator[Path]:
    folder = uploads() / f"sync-{sync.connection_id}-{sync.pk}-{sync.attempts}-{month_name(month.month)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch(
    context: SyncContext, month: BillMonth, folder: Path
) -> tuple[BillMonth, list[FocusFile], list[str]]:
    """Return the month as listed before and after, its files, and the connector's notes on it."""
    for number in range(MAX_FETCHES):
        context.progress.begin_month(month)
        disk.check_disk(month.bytes)
        attempt = folder / str(number)
        attempt.mkdir()
        fetch = Fetch(attempt, context.progress.fetch)
        try:
            files = _fetch_once(context, month, fetch)
        except MonthConflict:
            files = None
        context.progress.check()
        if files is not None and context.connector.changes_while_read:
            return month, files, fetch.notes
        listed = list_months(
            context.sync,
            context.connector,
            context.config,
            context.progress,
            in_child=context.in_child,
            month=month.month,
        )
        if not listed:
            raise SourceError("The files were deleted while they were read. The next sync tries again.")
        now = listed[0]
        if files is not None and now.fingerprint == month.fingerprint:
            return month, files, fetch.notes
        month = now
        shutil.rmtree(attempt)
    raise SourceError(_CONFLICT)


def _fetch_once(context: SyncContext, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
    connector, config = context.connector, context.config
    with page_cache_file(context.sync, connector) as pages:
        if not context.in_child:
            with use_page_cache(pages):
                return connector.fetch(config, month, fetch)
        name, deadline = f"cost sync {context.sync.pk}", context.progress.deadline
        return fetch_in_child(connector, config, month, fetch, name=name, deadline=deadline, pages=pages)


def _import(context: SyncContext, month: BillMonth, files: Sequence[FocusFile]) -> CostImport:
    sync, progress = context.sync, context.progress
    progress.stage(f"importing {month_name(month.month)}")
    job = import_files(
        account=sync.account,
        source=sync.connection.cost_source,
        paths=[file.path for file in files],
        actor=context.actor,
        on_progress=progress.importing,
        origin=CostImport.Origin.SYNC,
        decision=Decision.of_sync(month.month, context.listed),
        defaults=context.config.defaults,
        in_child=context.in_child,
    )
    if progress.stop is not None:
        raise progress.stop
    if job.status != CostImport.Status.DONE:
        raise UserError("The import was canceled. The next sync reads the month again.")
    return job


def _store(
    context: SyncContext, month: BillMonth, files: Sequence[FocusFile], notes: Sequence[str], started: float
) -> MonthOutcome:
    name, size = month_name(month.month), sum(file.path.stat().st_size for file in files)
    context.progress.stage(f"storing {name}")
    total = _stored_month(context, month, files)
    _remember(context.sync, month, total.rows, None, None)
    context.progress.end_month()
    result = PeriodResult(
        month=name,
        action=PeriodAction.IMPORTED if total.rows else PeriodAction.EMPTIED,
        rows=total.rows,
        bytes=size,
        files=len(files),
        seconds=round(time.monotonic() - started, 3),
        note=" ".join([*notes, *total.notes]),
    )
    return MonthOutcome(result)


def _stored_month(context: SyncContext, month: BillMonth, files: Sequence[FocusFile]) -> StoredMonth:
    source, checkpoint = context.sync.connection.target, context.progress.check_sometimes
    if context.connector.contents == Contents.CHANGE_EVENTS:
        return event_months.store_month(source=source, month=month.month, files=files, checkpoint=checkpoint)
    return usage_months.store_month(
        source=source,
        month=month.month,
        files=files,
        gauges=context.connector.gauges(context.config),
        checkpoint=checkpoint,
    )


def _remember(
    sync: CostSync, month: BillMonth, rows: int, mapping: MappingDocument | None, job: CostImport | None
) -> None:
    """Record the fingerprint, with which later syncs skip the month. If another process has claimed the sync
    meanwhile, it is unknown whose import came last, so the month is read again."""
    try:
        with transaction.atomic():
            sync_claims.fence.lock(sync)
            SyncPeriod.objects.update_or_create(
                connection=sync.connection,
                month=month.month,
                defaults={
                    "account": sync.account,
                    "fingerprint": fingerprint_of(sync, month, mapping),
                    "bytes": month.bytes,
                    "rows": rows,
                    "cost_import": job,
                    "synced_at": clock.now(),
                },
            )
    except sync_claims.SyncTakeover:
        SyncPeriod.objects.filter(connection_id=sync.connection_id, month=month.month).delete()
        raise


def _failure(month: BillMonth, started: float, error: str, size: int) -> PeriodResult:
    return PeriodResult(
        month=month_name(month.month),
        action=PeriodAction.FAILED,
        bytes=size,
        seconds=round(time.monotonic() - started, 3),
        error=error,
    )


def _other_months(month: BillMonth, job: CostImport) -> list[str]:
    name = month_name(month.month)
    other_months = [each for each in job.report.get("months", []) if each["month"] != name]
    if not other_months:
        return []
    lines = join_with_and([f"{each['rows']:,} of {each['month']}" for each in other_months])
    return [f"The files have rows of other billing months: {lines}."]

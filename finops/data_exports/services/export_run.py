"""One run of a data export: finds changed months, writes each completely, and updates the export's state."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

import msgspec
from django.conf import settings
from django.db import transaction
from msgspec.structs import replace

from finops.connections.connector import AccessError, MonthConflict, SourceError, SourceUnavailable
from finops.connections.transports.bucket import BucketObject, StorageBucket
from finops.cost_access.queries import limits_of_each
from finops.data_exports.cost_months import ExportDimensions
from finops.data_exports.destinations import destination_of
from finops.data_exports.layout import COST, SPLITS, ExportLayout
from finops.data_exports.models import DataExport, DataExportMonth, DataExportRun, month_name
from finops.data_exports.month_store import MonthStore
from finops.data_exports.orphans import orphan_files
from finops.data_exports.parquet_files import MonthFiles
from finops.data_exports.schedule import next_after_cancel, next_attempt, next_run
from finops.data_exports.schemas import ExportedFile, ExportMarker, ExportOutcome, MonthResult
from finops.data_exports.services.credentials import config_of
from finops.data_exports.services.run_claims import (
    MAX_ATTEMPTS,
    RunCancellation,
    RunTakeover,
    fence,
)
from finops.data_exports.split_months import SplitMonths
from finops.lake.engine.conversion import currency_scope
from finops.lake.queries import cost_months
from finops.lib import clock, disk, time_limit
from finops.lib.cost_access import LimitedCostAccess
from finops.lib.errors import UserError
from finops.lib.jobs import internal_error
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path

logger = logging.getLogger(__name__)

RunStatus = DataExportRun.RunStatus
SETTLING: Final = timedelta(minutes=10)
"""Lines are stored some time before their transaction commits: those stored within this time before a run count as not
seen."""


def run(row: DataExportRun) -> None:
    """Execute the claimed run. The account is in scope, all of its cost. An error is stored in the row; a run that was
    taken over has no effect."""
    error: UserError | None = None
    try:
        if row.cancel_requested_at is None and row.attempts > MAX_ATTEMPTS:
            raise UserError(
                "The run was interrupted several times and stopped. The server log has the reason."
            )
        with currency_scope(None):
            error = _ExportRun(row).run()
    except RunTakeover:
        logger.warning("data exports: run %s was taken over, or went with its export", row.pk)
        return
    except RunCancellation:
        _finish(row, RunStatus.CANCELED)
        return
    except UserError as problem:
        error = problem
    except Exception:
        logger.exception("data exports: run %s broke", row.pk)
        error = UserError(internal_error("run"))
    if row.cancel_requested_at is not None:  # while no process did it
        _finish(row, RunStatus.CANCELED)
    else:
        _finish(row, RunStatus.FAILED if error else RunStatus.DONE, error)


class _PlannedMonth(Protocol):
    """A month as it would be written: `fingerprint` changes when its files would."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are left out because other columns have their names."""

    def write(self, folder: Path, progress: Callable[[], None]) -> MonthFiles: ...


_Plan = Callable[[], _PlannedMonth | None]
"""Reads the month from the lake when it is its turn; returns None if it no longer has lines."""


class _ExportRun:
    """One attempt."""

    def __init__(self, row: DataExportRun) -> None:
        self._row, self._export = row, row.export
        self._layout = ExportLayout(row.export.name)
        self._results: list[MonthResult] = []
        self._stored = {(each.dataset, each.month): each for each in row.export.months.all()}

    def run(self) -> UserError | None:
        """Write all months and return the first error of a month, if the others could be written. Raises UserError,
        RunTakeover, RunCancellation."""
        with destination_of(self._export.destination).open(config_of(self._export)) as bucket:
            listed = {each.key: each for each in bucket.objects(self._layout.folder)}
            self._check_owner(bucket, listed)
            store = MonthStore(
                bucket,
                self._layout,
                self._export.public_id,
                self._row.execution_id,
                progress=self._progress,
                heartbeat=self._heartbeat,
            )
            try:
                self._progress()
                if self._export.removal_requested_at:
                    self._remove_all(bucket, listed)
                return self._write_months(store, listed)
            except RunCancellation:
                self._remove_orphans(store)
                raise

    def _write_months(self, store: MonthStore, listed: dict[str, BucketObject]) -> UserError | None:
        first_error: UserError | None = None
        seen: set[tuple[str, date]] = set()
        if self._layout.marker not in listed:
            self._put_marker(store)
        for dataset, month, plan in self._months():
            seen.add((dataset, month))
            result, error = self._month(store, listed, dataset, month, plan)
            self._keep(result)
            if error is not None:
                first_error = first_error or _of_month(month, error)
            if isinstance(error, AccessError | SourceUnavailable | disk.LowDisk | time_limit.TimeLimitError):
                return first_error
        self._remove_empty_months(store, seen)
        return first_error

    def _months(self) -> Iterator[tuple[str, date, _Plan]]:
        """Each month of each dataset, the newest first, because readers need it most."""
        export = self._export
        dimensions = ExportDimensions.of(export.account)
        splits = SplitMonths.of(dimensions, export.excluded_columns) if export.with_splits else None
        months = sorted(cost_months(export.account), reverse=True)
        fence.update(self._row, months_listed=len(months))
        for month in months:
            yield COST, month, partial(dimensions.month, month, export.excluded_columns)
        if splits is not None:
            for month in splits.months():
                yield SPLITS, month, partial(splits.month, month)

    def _month(
        self,
        store: MonthStore,
        listed: dict[str, BucketObject],
        dataset: str,
        month: date,
        plan: _Plan,
    ) -> tuple[MonthResult, UserError | None]:
        start = time.monotonic()
        result = MonthResult(dataset=dataset, month=month_name(month), outcome=ExportOutcome.FAILED)
        try:
            self._check_cost_access()
            fence.update_running(self._row, stage=f"writing {month_name(month)}")
            planned = plan()
            if planned is None:
                return self._remove(store, dataset, month), None
            stored = self._stored.get((dataset, month))
            if stored is not None and stored.fingerprint == planned.fingerprint and _is_whole(stored, listed):
                self._remove_leftovers(store, dataset, month, listed, stored.files)
                unchanged = replace(
                    result, outcome=ExportOutcome.UNCHANGED, rows=stored.rows, bytes=stored.bytes
                )
                return unchanged, None
            files = self._write(store, listed, dataset, month, planned)
        except (UserError, MonthConflict) as problem:
            error = _user_error(problem)
            return replace(result, error=error.message), error
        done = replace(
            result,
            outcome=ExportOutcome.REPLACED if stored else ExportOutcome.WRITTEN,
            rows=sum(each.rows for each in files),
            bytes=sum(each.bytes for each in files),
            files=len(files) - 1,
            seconds=round(time.monotonic() - start, 3),
        )
        return done, None

    def _check_cost_access(self) -> None:
        """Raises LimitedCostAccess for an export with limited cost access: its files contain whole bills."""
        limits = limits_of_each({"data_export": self._export.pk})
        if limits:
            names = " and ".join(limit.name for limit in limits)
            raise LimitedCostAccess(
                f"The data export is limited to {names}, and contains all cost. Its files stay as they are."
            )

    def _write(
        self,
        store: MonthStore,
        listed: dict[str, BucketObject],
        dataset: str,
        month: date,
        planned: _PlannedMonth,
    ) -> list[ExportedFile]:
        with _folder() as folder:
            files = planned.write(folder, self._progress)
            try:
                stored = store.put(
                    dataset, month, files, fingerprint=planned.fingerprint, left_out=planned.left_out
                )
            except RunCancellation:
                store.discard(dataset, month, len(files.files))
                raise
        _store_month(self._row, dataset, month, planned.fingerprint, stored)
        self._remove_leftovers(store, dataset, month, listed, msgspec.to_builtins(stored))
        return stored

    def _remove_leftovers(
        self,
        store: MonthStore,
        dataset: str,
        month: date,
        listed: dict[str, BucketObject],
        current: list[dict[str, Any]],
    ) -> None:
        """Delete files that the month's manifest no longer names, also those of a killed run."""
        names = {each["key"] for each in current}
        of_month = [key for key in listed if self._layout.is_file_of(key, dataset, month)]
        store.delete(key for key in of_month if key not in names)

    def _remove_orphans(self, store: MonthStore) -> None:
        """Delete files of killed attempts; if the bucket is unavailable, the next run deletes them."""
        listed = {each.key: each for each in store.bucket.objects(self._layout.folder)}
        stored = {each["key"] for row in self._export.months.all() for each in row.files}
        try:
            store.delete(list(orphan_files(store.bucket, self._layout, listed, stored)))
        except (UserError, MonthConflict) as problem:
            logger.warning("data exports: canceled run %s leaves files: %s", self._row.pk, problem)

    def _remove_empty_months(self, store: MonthStore, seen: set[tuple[str, date]]) -> None:
        """Remove months that no longer have lines."""
        for dataset, month in sorted(self._stored.keys() - seen):
            self._progress()
            self._keep(self._remove(store, dataset, month))

    def _remove(self, store: MonthStore, dataset: str, month: date) -> MonthResult:
        """Remove a month, its manifest first: without it the files are not read as a month."""
        stored = self._stored.get((dataset, month))
        keys = [each["key"] for each in stored.files] if stored else []
        store.delete(reversed(keys))
        self._export.months.filter(dataset=dataset, month=month).delete()
        return MonthResult(dataset=dataset, month=month_name(month), outcome=ExportOutcome.REMOVED)

    def _check_owner(self, bucket: StorageBucket, listed: dict[str, BucketObject]) -> None:
        marker = listed.get(self._layout.marker)
        if marker is None:
            return
        owner = bucket.read_json(marker, ExportMarker)
        if owner.export_id != str(self._export.public_id):
            raise SourceError(
                f"{bucket.url}/{self._layout.folder} belongs to another data export. Create this export with another name or "
                "folder, or delete that folder first."
            )

    def _put_marker(self, store: MonthStore) -> None:
        marker = ExportMarker(export_id=str(self._export.public_id), export=self._export.name)
        with _folder() as folder:
            store.put_json(self._layout.marker, marker, folder)

    def _remove_all(self, bucket: StorageBucket, listed: dict[str, BucketObject]) -> NoReturn:
        """Delete everything that runs wrote, manifests first and the marker last; then the export itself."""
        own = [key for key in listed if self._layout.is_own(key) and key != self._layout.marker]
        for key in [*sorted(own, key=lambda key: not key.endswith(".json")), self._layout.marker]:
            bucket.delete(key)
            self._heartbeat()
        self._export.delete()
        raise RunTakeover

    def _progress(self) -> None:
        """Called between two files and row groups of a month without its manifest. Raises TimeLimitError, RunTakeover,
        RunCancellation."""
        time_limit.check()
        fence.update_running(self._row, attempts=self._row.attempts)

    def _heartbeat(self) -> None:
        """Called between two deletions, which a cancellation does not interrupt. Raises TimeLimitError, RunTakeover."""
        time_limit.check()
        fence.update(self._row, attempts=self._row.attempts)

    def _keep(self, result: MonthResult) -> None:
        self._results.append(result)
        counts = {
            f"months_{outcome.value}": sum(each.outcome is outcome for each in self._results)
            for outcome in ExportOutcome
        }
        outcomes = (ExportOutcome.WRITTEN, ExportOutcome.REPLACED)
        fence.update(
            self._row,
            **counts,
            months=msgspec.to_builtins(self._results),
            rows=sum(each.rows for each in self._results if each.outcome in outcomes),
            bytes=sum(each.bytes for each in self._results if each.outcome in outcomes),
        )


@transaction.atomic
def _store_month(
    row: DataExportRun, dataset: str, month: date, fingerprint: str, stored: list[ExportedFile]
) -> None:
    """Store the month after its manifest: if a run dies between them, the month is written again. Raises RunTakeover."""
    fence.update(row, attempts=row.attempts)
    DataExportMonth.objects.update_or_create(
        account=row.account,
        export=row.export,
        dataset=dataset,
        month=month,
        defaults={
            "fingerprint": fingerprint,
            "files": msgspec.to_builtins(stored),
            "rows": sum(each.rows for each in stored),
            "bytes": sum(each.bytes for each in stored),
            "written_at": clock.now(),
        },
    )


def _is_whole(stored: DataExportMonth, listed: dict[str, BucketObject]) -> bool:
    """Whether the bucket still has the month's files as they were written."""
    return all(each["key"] in listed and listed[each["key"]].bytes == each["bytes"] for each in stored.files)


@contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder on a disk of this server."""
    parent = Path(settings.VAR_DIR) / "data-exports"
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)


def _user_error(problem: UserError | MonthConflict) -> UserError:
    if isinstance(problem, UserError):
        return problem
    return SourceUnavailable(f"{problem} The next run writes the month.")


def _of_month(month: date, error: UserError) -> UserError:
    named = SourceError(f"{month_name(month)}: {error.message}")
    named.retry_after = getattr(error, "retry_after", None)
    return named


def _finish(row: DataExportRun, status: RunStatus, error: UserError | None = None) -> None:
    """End the run and set the time of its export's next run. Does nothing if another attempt has taken over."""
    try:
        with transaction.atomic():
            export = DataExport.objects.select_for_update(of=("self",)).get(pk=row.export_id)
            _schedule(export, row, status, error)
            fence.update(
                row, status=status, stage="", error=error.message if error else "", finished_at=clock.now()
            )
            if error is not None:
                _notify(export, error)
    except (DataExport.DoesNotExist, RunTakeover):
        logger.warning("data exports: run %s went with its export", row.pk)


def _schedule(export: DataExport, row: DataExportRun, status: RunStatus, error: UserError | None) -> None:
    now = clock.now()
    if status == RunStatus.CANCELED:
        export.next_run_at = next_after_cancel(export, now)
    elif error is not None:
        export.failures += 1
        export.failing_since = export.failing_since or now
        retry_after = getattr(error, "retry_after", None)
        export.next_run_at = next_attempt(export.failures, now, retry_after=retry_after)
    else:
        export.failures, export.failing_since, export.last_success_at = 0, None, now
        export.changes_seen_at = (row.started_at or now) - SETTLING
        export.next_run_at = next_run(export.pk, export.schedule, now)
    if export.removal_requested_at and not row.export.removal_requested_at:
        export.next_run_at = now  # It was requested during the run, which has deleted nothing.
    export.save(
        update_fields=["failures", "failing_since", "next_run_at", "last_success_at", "changes_seen_at"]
    )


def _notify(export: DataExport, error: UserError) -> None:
    """Notify once for all failed attempts until one succeeds."""
    notify(
        account=export.account,
        kind=Notification.Kind.EXPORT,
        title=f"Data export {export.name} failed",
        text=error.message,
        path=page_path(export.account, "data_export", data_export_id=export.pk),
        key=f"{export.pk}/{export.failing_since}",
    )

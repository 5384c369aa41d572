"""The time of a data export's next run. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from finops.connections.schedule import next_retry, next_sync
from finops.data_exports.models import DataExport

MINUTES: Final = {
    DataExport.Schedule.DAILY.value: 24 * 60,
    DataExport.Schedule.HOURLY.value: 60,
    DataExport.Schedule.AFTER_IMPORTS.value: 15,
}
"""Minutes between two runs. After imports: between two checks whether cost changed, so that many imports cause one run."""
RETRY_MINUTES: Final = 5


def next_run(export_id: int, schedule: str, now: datetime) -> datetime:
    """The time after a successful run: the export's own minute of each interval."""
    return next_sync(export_id, MINUTES[schedule], now)


def next_after_cancel(export: DataExport, now: datetime) -> datetime:
    """The time after a canceled run: a due time is skipped, a future one stays."""
    return export.next_run_at if export.next_run_at > now else next_run(export.pk, export.schedule, now)


def next_attempt(failures: int, now: datetime, *, retry_after: float | None = None) -> datetime:
    """The time after this many consecutive failures: 5 minutes times 2^failures, a day at most, and not before the
    storage's Retry-After."""
    return next_retry(RETRY_MINUTES, failures, now, retry_after=retry_after)

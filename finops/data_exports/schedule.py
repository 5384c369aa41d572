"""When a data export runs next. Pure."""

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
"""Between two runs. After imports: between two looks whether cost changed, so that many imports make one run."""
RETRY_MINUTES: Final = 5


def next_run(export_id: int, schedule: str, now: datetime) -> datetime:
    """After a run that did not fail: the export's own minute of each interval."""
    return next_sync(export_id, MINUTES[schedule], now)


def next_after_cancel(export: DataExport, now: datetime) -> datetime:
    """After a run that a person canceled: the time that was due is left out, one that is to come stays."""
    return export.next_run_at if export.next_run_at > now else next_run(export.pk, export.schedule, now)


def next_attempt(failures: int, now: datetime, *, retry_after: float | None = None) -> datetime:
    """After so many failures in a row: 5 minutes times 2^failures, a day at most, and no sooner than the storage asked for."""
    return next_retry(RETRY_MINUTES, failures, now, retry_after=retry_after)

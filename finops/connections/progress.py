"""The progress of a sync as text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from finops.connections.models import CostSync
from finops.connections.queries import RemainingTime, remaining_time
from finops.connections.schemas import PeriodAction
from finops.lib.formats.dates import duration
from finops.lib.formats.numbers import filesize

QUIET: Final = timedelta(minutes=2)
"""Without a heartbeat of the worker for this long, no remaining time is shown, because it would be a guess."""


@dataclass(frozen=True)
class SyncProgress:
    """Progress of a sync. `percent` of the bytes to read; None if their number is unknown."""

    percent: int | None
    text: str


def progress_of(sync: CostSync, now: datetime) -> SyncProgress:
    """Return the progress of a sync that has not ended."""
    remaining = remaining_time(sync) or RemainingTime(None)
    months = _months_text(sync)
    silence = now - sync.heartbeat_at if sync.heartbeat_at else timedelta()
    if silence > QUIET:
        remaining_text = f"No progress for {duration(silence.total_seconds())}. Another worker takes over."
    elif remaining.seconds is not None:
        remaining_text = f"About {duration(remaining.seconds)} left."
    else:
        remaining_text = remaining.reason
    if not sync.bytes_total:
        return SyncProgress(None, " ".join(filter(None, [months, remaining_text])))
    percent = min(99, sync.bytes_done * 100 // sync.bytes_total)
    return SyncProgress(
        percent, f"{percent}% of {filesize(sync.bytes_total)}. {months} {remaining_text}".replace("  ", " ")
    )


def empty_months(sync: CostSync) -> int:
    """Return the number of months that were read and had no rows."""
    return sum(each["action"] == PeriodAction.EMPTIED for each in sync.periods)


def _months_text(sync: CostSync) -> str:
    out_of_range = sum(each["action"] == PeriodAction.OUT_OF_RANGE for each in sync.periods)
    to_read = sync.months_listed - sync.months_unchanged - out_of_range
    done = sync.months_imported + empty_months(sync)
    return (
        f"{done} of {to_read} months {'read' if done > sync.months_imported else 'imported'}."
        if to_read > 0
        else ""
    )

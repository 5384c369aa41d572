"""Estimate of a sync's remaining time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from finops.connections.models import UNFINISHED_STATUSES, CostSync

FEWEST_SECONDS: Final = 5.0
FEWEST_SHARE: Final = 0.02
"""The remaining time is estimated after this many seconds and this share of the bytes."""


@dataclass(frozen=True)
class RemainingTime:
    """Estimated seconds until the end of a sync; None with a reason if there is no estimate."""

    seconds: float | None
    reason: str = ""


def remaining_time(sync: CostSync) -> RemainingTime | None:
    """Estimate the remaining time from the bytes per second of this sync; None after its end. A month's bytes count
    half when they are fetched and fully when they are imported."""
    if sync.status not in UNFINISHED_STATUSES:
        return None
    if sync.status == CostSync.SyncStatus.QUEUED or sync.started_at is None or sync.heartbeat_at is None:
        return RemainingTime(None, "Waiting for a worker." if sync.months_listed else "Not started.")
    if sync.stage == "listing":
        return RemainingTime(None, "Listing months.")
    if not sync.bytes_total:
        return RemainingTime(None, "Remaining time unknown: the source reports no file sizes.")
    seconds = (sync.heartbeat_at - sync.started_at).total_seconds()
    if seconds < FEWEST_SECONDS or sync.bytes_done < sync.bytes_total * FEWEST_SHARE:
        return RemainingTime(None, "Estimating the remaining time.")
    return RemainingTime(seconds * max(sync.bytes_total - sync.bytes_done, 0) / sync.bytes_done)

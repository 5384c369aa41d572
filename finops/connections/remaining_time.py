"""How long a sync is likely to take yet. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from finops.connections.models import UNFINISHED_STATUSES, CostSync

FEWEST_SECONDS: Final = 5.0
FEWEST_SHARE: Final = 0.02
"""From then on the time left can be told: after so many seconds, and this part of the bytes."""


@dataclass(frozen=True)
class RemainingTime:
    """Seconds until a sync is likely to be done; None with a reason while nobody can tell."""

    seconds: float | None
    reason: str = ""


def remaining_time(sync: CostSync) -> RemainingTime | None:
    """From the bytes that this sync has done a second; None once it has ended. A month's bytes count by half when they are
    fetched and whole when they are imported."""
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

"""Queues and lanes: a queue for each worker program, and in each program lanes with threads of their own (ADR 0030).

In one place, so that no task is without a lane (`tests/finops/worker` compares it with the existing tasks). Imports nothing
of the project: settings read it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from kombu import Exchange, Queue

SHORT: Final = "short"
IMPORTS: Final = "imports"
INSIGHTS: Final = "insights"


@dataclass(frozen=True)
class Lane:
    """Threads of a worker program that other lanes cannot take."""

    name: str
    queue: str
    threads: int
    seconds: float = math.inf
    """The time limit of a task (`finops.lib.time_limit`)."""


CLOCK: Final = Lane("clock", SHORT, 1)
"""Tasks that query which accounts are due, and queue a task for each. Milliseconds."""
FLUSH: Final = Lane("flush", SHORT, 2)
ALERTS: Final = Lane("alerts", SHORT, 2)
DELIVERIES: Final = Lane("deliveries", SHORT, 2)
"""Deliveries wait for other people's receivers, up to 10 s each."""
JOBS: Final = Lane("imports", IMPORTS, 2)
"""Jobs have a limit of their own, JOB_MAX_SECONDS."""
LOOKS: Final = Lane("looks", IMPORTS, 2)
"""Checks of sources for new data: a listing each, which is not delayed by a sync of years of bills."""
SYNCS: Final = Lane("syncs", IMPORTS, 2)
"""Syncs wait for other people's servers, and import one month after another."""
ANALYSIS: Final = Lane("insights", INSIGHTS, 2, seconds=600)
MERGES: Final = Lane("merges", INSIGHTS, 2, seconds=3600)
"""Merges take seconds for each account and have no deadline: so no flush waits behind a merge of another account."""
MAINTENANCE: Final = Lane("maintenance", INSIGHTS, 1, seconds=3600)
BACKUPS: Final = Lane("backups", INSIGHTS, 1)
"""The first backup of a lake of terabytes takes hours."""
DATA_EXPORTS: Final = Lane("data exports", INSIGHTS, 1, seconds=6 * 3600)
"""Exports wait for other people's storage. One thread, since each uses the lake while it reads a month."""

LANE_OF: Final[dict[str, Lane]] = {
    # Beat sends it to each queue.
    "finops.note_worker": CLOCK,
    "ingestion.flush_due_usage": CLOCK,
    "ingestion.void_due": CLOCK,
    "lake.summarise_due": CLOCK,
    "insights.find_due_anomalies": CLOCK,
    "insights.derive_due_events": CLOCK,
    "insights.find_recommendations_due": CLOCK,
    "alerts.evaluate_due": CLOCK,
    "alerts.send_due": CLOCK,
    "audit_webhooks.send_due": CLOCK,
    "issues.create_due": CLOCK,
    "reports.send_due": CLOCK,
    "issues.poll_due": CLOCK,
    "ingestion.tidy_all_usage": CLOCK,
    "costs.run_due_imports": CLOCK,
    "accounts.send_invitations_due": CLOCK,
    "accounts.delete_due_accounts": CLOCK,
    "ingestion.run_due_uploads": CLOCK,
    "connections.run_due_syncs": CLOCK,
    "connections.run_due_pushes": CLOCK,
    "ingestion.flush_usage": FLUSH,
    "alerts.evaluate": ALERTS,
    "alerts.send_delivery": DELIVERIES,
    "exchange_rates.fetch": MAINTENANCE,
    "audit_webhooks.send": DELIVERIES,
    "issues.create": DELIVERIES,
    "accounts.send_unsent_mails": DELIVERIES,
    "accounts.send_invitation": DELIVERIES,
    "costs.run_import": JOBS,
    "costs.import_part": JOBS,
    "connections.look": LOOKS,
    "issues.poll": LOOKS,
    "connections.run_sync": SYNCS,
    "connections.run_push": SYNCS,
    "ingestion.run_upload": JOBS,
    "insights.find_anomalies": ANALYSIS,
    "insights.find_anomalies_in_part": ANALYSIS,
    "insights.derive_events": ANALYSIS,
    "reports.send": ANALYSIS,
    # For a bill of hundreds of projects it takes minutes of requests: no check waits behind it.
    "insights.refresh_recommendations": ANALYSIS,
    "costs.refresh_completeness": ANALYSIS,
    "costs.find_due_overlaps": ANALYSIS,
    "ingestion.void_asked": ANALYSIS,
    "lake.merge_usage": MERGES,
    # For a bill of tens of millions of lines it takes longer than an analysis may, and would never finish.
    "lake.summarise": MERGES,
    "ingestion.tidy_usage": MAINTENANCE,
    "lake.sweep": MAINTENANCE,
    "accounts.delete_account": MAINTENANCE,
    "exports.run_due": CLOCK,
    "exports.run": MAINTENANCE,
    "accounts.sweep_connections": MAINTENANCE,
    "accounts.sweep_security": MAINTENANCE,
    "connections.sweep": MAINTENANCE,
    "connections.expire_pushes": MAINTENANCE,
    "costs.remove_forgotten_uploads": MAINTENANCE,
    "ingestion.prune_rejected": MAINTENANCE,
    "ingestion.sweep": MAINTENANCE,
    "ingestion.expire_event_ids": MAINTENANCE,
    "ingestion.remove_forgotten_uploads": MAINTENANCE,
    "alerts.sweep": MAINTENANCE,
    "audit_webhooks.sweep": MAINTENANCE,
    "issues.sweep": MAINTENANCE,
    "activity.sweep": MAINTENANCE,
    "change_events.sweep": MAINTENANCE,
    "receipts.sweep": MAINTENANCE,
    "notifications.sweep": MAINTENANCE,
    "data_exports.run_due": CLOCK,
    "data_exports.run": DATA_EXPORTS,
    "data_exports.sweep": MAINTENANCE,
    "backup.run_due": CLOCK,
    "backup.run": BACKUPS,
}
QUEUES: Final = (SHORT, IMPORTS, INSIGHTS)
TASK_QUEUES: Final = [Queue(name, Exchange(name), routing_key=name) for name in QUEUES]
TASK_ROUTES: Final = {task: {"queue": lane.queue} for task, lane in LANE_OF.items()}


def threads_of(queue: str) -> int:
    """Return the threads of the program that serves a queue."""
    return sum(lane.threads for lane in set(LANE_OF.values()) if lane.queue == queue)


CONNECTIONS: Final = (
    2 * sum(lane.threads for lane in set(LANE_OF.values()))
    + 2 * JOBS.threads
    + 3 * SYNCS.threads
    + 2 * BACKUPS.threads
)
"""The most database connections of one worker program for each queue: a thread's own and that of its lock, and a child's of
each import, with the lock of the part that it reads; a sync also has the lock of its import, a backup that of the lake's files and its snapshot."""

"""The periods of beat's tasks. Imports nothing of the project: settings read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

TASK_SECONDS: Final[dict[str, int]] = {
    "costs.run_due_imports": 15,
    "connections.run_due_syncs": 15,
    "connections.sweep": 86_400,
    "connections.run_due_pushes": 15,
    "connections.expire_pushes": 3_600,
    "costs.find_due_overlaps": 60,
    "costs.refresh_completeness": 60,
    "ingestion.flush_due_usage": 3,
    "ingestion.tidy_all_usage": 86_400,
    "lake.sweep": 3_600,
    "lake.summarise_due": 60,
    "accounts.send_unsent_mails": 15,
    "accounts.sweep_connections": 3_600,
    "accounts.send_invitations_due": 60,
    "accounts.delete_due_accounts": 3_600,
    "accounts.sweep_security": 86_400,
    "costs.remove_forgotten_uploads": 86_400,
    "ingestion.prune_rejected": 300,
    "ingestion.sweep": 3_600,
    "ingestion.expire_event_ids": 86_400,
    "ingestion.void_due": 60,
    "ingestion.run_due_uploads": 15,
    "ingestion.remove_forgotten_uploads": 86_400,
    "insights.find_due_anomalies": 60,
    "insights.derive_due_events": 300,
    "insights.find_recommendations_due": 86_400,
    "alerts.evaluate_due": 60,
    "alerts.send_due": 15,
    "alerts.sweep": 86_400,
    "audit_webhooks.send_due": 15,
    "audit_webhooks.sweep": 86_400,
    "issues.create_due": 15,
    "issues.poll_due": 60,
    "issues.sweep": 86_400,
    "activity.sweep": 3_600,
    "change_events.sweep": 86_400,
    "receipts.sweep": 86_400,
    "notifications.sweep": 86_400,
    "exchange_rates.fetch": 43_200,
    "reports.send_due": 600,
    "backup.run_due": 600,
    "exports.run_due": 60,
    "data_exports.run_due": 60,
    "data_exports.sweep": 86_400,
}


def beat_schedule(queues: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return Celery's CELERY_BEAT_SCHEDULE: each task, and a message to each queue for /readyz, which reports whether
    workers live (finops.worker.liveness)."""
    # A message that waited for longer than its period is dropped: the next one does the same work.
    tasks = {
        task: {"task": task, "schedule": float(seconds), "options": {"expires": float(seconds)}}
        for task, seconds in TASK_SECONDS.items()
    }
    notes = {
        f"finops.note_worker {queue}": {
            "task": "finops.note_worker",
            "schedule": 10.0,
            "options": {"queue": queue, "expires": 10.0},
        }
        for queue in queues
    }
    return tasks | notes

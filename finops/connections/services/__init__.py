"""Writes on connections and their syncs. Callers check permissions."""

from finops.connections.services.connections import (
    change_connection,
    check_config,
    create_connection,
    pause_connection,
    resume_connection,
)
from finops.connections.services.credentials import config_of
from finops.connections.services.mapping_samples import fetch_sample, sync_again
from finops.connections.services.syncs import (
    cancel_sync,
    check_for_changes,
    queue_due_syncs,
    queue_sync,
    remove_old_syncs,
    run_sync,
    unfinished_syncs,
)

__all__ = [
    "cancel_sync",
    "change_connection",
    "check_config",
    "check_for_changes",
    "config_of",
    "create_connection",
    "fetch_sample",
    "pause_connection",
    "queue_due_syncs",
    "queue_sync",
    "remove_old_syncs",
    "resume_connection",
    "run_sync",
    "sync_again",
    "unfinished_syncs",
]

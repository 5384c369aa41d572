"""Writes on usage: sources and their keys, metrics, pushed events."""

from __future__ import annotations

from ingestion.services.accept import RevokedKeyError, accept_events
from ingestion.services.idempotency import IdempotencyKeyConflict, Retry
from ingestion.services.keys import generate_usage_key, regenerate_usage_key, revoke_usage_key
from ingestion.services.retention import set_usage_retention
from ingestion.services.sources import (
    create_usage_source,
    delete_usage_source,
    rename_usage_source,
    set_customer_attribute,
    set_event_id_field,
    set_metric,
)
from ingestion.services.uploads import cancel_upload, due_uploads, queue_upload, run_upload
from ingestion.services.voiding import accounts_with_requested_voids, void_requested_batches, void_usage_batch

__all__ = [
    "IdempotencyKeyConflict",
    "Retry",
    "RevokedKeyError",
    "accept_events",
    "accounts_with_requested_voids",
    "cancel_upload",
    "create_usage_source",
    "delete_usage_source",
    "due_uploads",
    "generate_usage_key",
    "queue_upload",
    "regenerate_usage_key",
    "rename_usage_source",
    "revoke_usage_key",
    "run_upload",
    "set_customer_attribute",
    "set_event_id_field",
    "set_metric",
    "set_usage_retention",
    "void_requested_batches",
    "void_usage_batch",
]

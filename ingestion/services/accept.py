"""Accepts a pushed batch: atomically, once, and only with a key that is valid until the commit.

Every push of an account takes its locks in the same order, so that pushes never deadlock: the key, the
Idempotency-Key, new dimension keys of the source, event ids, customers, metrics.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

import msgspec
from django.db import transaction

from accounts.models import Account
from finops.lake.usage import inbox
from finops.lib import clock, prepared_statements
from finops.lib.prepared_statements import Statement, UuidArray
from finops.lib.telemetry import metrics
from finops.lib.turns import end_turn
from ingestion.models import UsageMetric
from ingestion.parsing import Batch, last_names
from ingestion.remarks import Remarks
from ingestion.services import dimension_keys, event_ids, idempotency, ledger
from ingestion.services.event_ids import DedupResult
from ingestion.services.idempotency import Receipt, Retry
from ingestion.services.keys import PushCredential, active_key_lock, lock_active_key


class RevokedKeyError(Exception):
    """The key was revoked or replaced during its push; nothing of it is stored."""


def accept_events(
    *, credential: PushCredential, batch: Batch, retry: Retry | None = None, dry_run: bool = False
) -> Receipt:
    """Store the new events of a batch with their customers and metrics; they count from the commit on.

    A retry gets the response of the first push. A dry run gets the response that it would get, and stores nothing.
    Raises RevokedKeyError if the key is no longer valid, also for a batch without a valid event, and
    IdempotencyKeyConflict. Cost: one statement if all events are valid and new; else a transaction of one to check the
    key, one for events, ledger, customers and metrics, and one or two more with event ids, with an Idempotency-Key, with
    rejected events.
    """
    contents = None if dry_run else _contents_at_once(credential, batch)
    if contents is not None and (receipt := _accept_at_once(credential, batch, contents, retry)):
        return receipt
    return _accept_in_transaction(credential, batch, retry, dry_run=dry_run, is_repeated=bool(contents))


def _contents_at_once(credential: PushCredential, batch: Batch) -> dict[bytes, bytes] | None:
    """Return the event ids with their contents if one statement can store the batch, else None."""
    if batch.rejected or batch.gauges or not len(batch.events):
        return None
    if not dimension_keys.are_cached(source_id=credential.source_id, batch=batch):
        return None
    return event_ids.new_ids_of(batch, credential.source_id)


def _accept_at_once(
    credential: PushCredential, batch: Batch, contents: dict[bytes, bytes], retry: Retry | None
) -> Receipt | None:
    """Store a batch of new events by one statement, which is its own transaction: it locks the key, claims the
    Idempotency-Key and the event ids, and stores the rest. None, and nothing is stored, if one of these exists
    already. Raises RevokedKeyError."""
    batch_id, now = uuid4(), clock.now()
    dedup_result = DedupResult(batch.events, batch.names, 0, (), len(batch.rounded))
    remarks = Remarks.of(batch, now)
    receipt = Receipt.of(batch_id, dedup_result, remarks)
    condition = active_key_lock(credential.key_id)
    if contents or retry:
        condition = _claim_of(condition, credential.account.pk, batch_id, now, contents, retry, receipt)
    statements = _statements(credential, batch_id, now, dedup_result, remarks)
    end_turn()  # the statement commits, and waits for the disk
    is_stored = prepared_statements.execute_if(condition, *statements)
    if is_stored is None:
        raise RevokedKeyError
    if not is_stored:
        return None
    transaction.on_commit(partial(_count, dedup_result))
    return receipt


# Migration 0015 has the function, with its reasons.
_CLAIM = "SELECT ingestion_claim_new_ids(%s, %s, %s, %s, %s::text, %b::bytea, %b::bytea, %s::jsonb, %s)"


def _claim_of(
    lock: Statement,
    account_id: int,
    batch_id: UUID,
    received_at: datetime,
    contents: dict[bytes, bytes],
    retry: Retry | None,
    receipt: Receipt,
) -> Statement:
    headers = msgspec.json.encode(receipt.headers).decode()
    answer = (retry.key, retry.body_digest, receipt.body, headers) if retry else (None, None, None, None)
    values = (account_id, batch_id, UuidArray(contents), UuidArray(contents.values()), *answer, received_at)
    return Statement(f"{_CLAIM} FROM ({lock.text}) AS locked", [*values, *lock.values])


@transaction.atomic
def _accept_in_transaction(
    credential: PushCredential, batch: Batch, retry: Retry | None, *, dry_run: bool, is_repeated: bool
) -> Receipt:
    if not lock_active_key(credential.key_id):
        raise RevokedKeyError
    account_id = credential.account.pk
    if dry_run:
        return _dry_run_receipt(credential, batch, retry)
    if retry and (stored_receipt := idempotency.claim(account_id=account_id, retry=retry)):
        return stored_receipt
    batch_id = uuid4()
    batch = dimension_keys.admit(account_id=account_id, source_id=credential.source_id, batch=batch)
    dedup_result = event_ids.deduplicate(
        account_id=account_id,
        source_id=credential.source_id,
        batch=batch,
        batch_id=batch_id,
        is_repeated=is_repeated,
    )
    remarks = Remarks.of(batch, clock.now())
    _store(credential, batch, batch_id, dedup_result, remarks)
    receipt = Receipt.of(batch_id, dedup_result, remarks)
    transaction.on_commit(partial(_count, dedup_result))
    if retry:
        idempotency.store_answer(account_id=account_id, retry=retry, receipt=receipt)
    end_turn()  # the commit waits for the disk
    return receipt


def _count(result: DedupResult) -> None:
    metrics.EVENTS.inc("accepted", by=len(result.events))
    if result.duplicates:
        metrics.EVENTS.inc("duplicate", by=result.duplicates)
    if result.rejected:
        metrics.EVENTS.inc("rejected", by=len(result.rejected))


def _dry_run_receipt(credential: PushCredential, batch: Batch, retry: Retry | None) -> Receipt:
    account_id = credential.account.pk
    if retry and (stored_receipt := idempotency.find(account_id=account_id, retry=retry)):
        return stored_receipt
    batch = dimension_keys.check(source_id=credential.source_id, batch=batch)
    dedup_result = event_ids.deduplicate(
        account_id=account_id, source_id=credential.source_id, batch=batch, batch_id=None
    )
    return Receipt.of(None, dedup_result, Remarks.of(batch, clock.now()))


def _store(
    credential: PushCredential, batch: Batch, batch_id: UUID, dedup_result: DedupResult, remarks: Remarks
) -> None:
    now, account = clock.now(), credential.account
    prepared_statements.execute_together(*_statements(credential, batch_id, now, dedup_result, remarks))
    # Names of rejected events may be none that PostgreSQL can compare, such as one with a NUL.
    if gauges := batch.gauges.intersection(dedup_result.events.metrics):
        set_gauges(account.pk, gauges, now)
    ledger.write_rejected_events(
        batch_id=batch_id,
        account_id=account.pk,
        source_id=credential.source_id,
        received_at=now,
        batch=batch,
        rejected=dedup_result.rejected,
    )


def _statements(
    credential: PushCredential,
    batch_id: UUID,
    received_at: datetime,
    dedup_result: DedupResult,
    remarks: Remarks,
) -> list[Statement]:
    ledger_row = ledger.insert_of(
        batch_id=batch_id,
        credential=credential,
        received_at=received_at,
        stored=dedup_result.events,
        duplicates=dedup_result.duplicates,
        rejected=len(dedup_result.rejected),
        ignored_fields=remarks.ignored_fields,
    )
    event_statements = _event_statements(
        account=credential.account,
        source_id=credential.source_id,
        batch=batch_id,
        received_at=received_at,
        dedup_result=dedup_result,
    )
    return [ledger_row, *event_statements]


def store_events(
    *,
    account: Account,
    source_id: int,
    batch: UUID,
    received_at: datetime,
    dedup_result: DedupResult,
) -> None:
    """Insert up to a thousand new events into the inbox, with their customers and metrics, in the caller's transaction."""
    statements = _event_statements(
        account=account,
        source_id=source_id,
        batch=batch,
        received_at=received_at,
        dedup_result=dedup_result,
    )
    if statements:
        prepared_statements.execute_together(*statements)


# Migration 0009 has the function, with its reasons.
_UPSERT = "SELECT ingestion_upsert_customers_and_metrics(%s, %s::json, %s::text[], %s::timestamptz)"


def _event_statements(
    *,
    account: Account,
    source_id: int,
    batch: UUID,
    received_at: datetime,
    dedup_result: DedupResult,
) -> list[Statement]:
    """Return what stores new events: their row of the inbox, then missing customers and metrics and changed names."""
    events = dedup_result.events
    if not len(events):
        return []
    row = inbox.insert_of(
        account=account, source_id=source_id, batch=batch, received_at=received_at, events=events
    )
    # One JSON text: psycopg takes a millisecond longer for arrays of a thousand names.
    names = msgspec.json.encode(last_names(events.customer_ids, dedup_result.names)).decode()
    metric_names = list(set(events.metrics))
    return [row, Statement(_UPSERT, (account.pk, names, metric_names, received_at))]


def set_gauges(account_id: int, names: Collection[str], now: datetime) -> None:
    """Set the aggregation of new gauges in this batch to their last value; settings of other metrics stay."""
    # Unscoped: the account comes from the request's credential. Metrics first seen at `now` are of this transaction.
    new = UsageMetric.objects.unscoped().filter(account_id=account_id, name__in=names, first_seen_at=now)
    new.update(aggregation=UsageMetric.Aggregation.LAST)

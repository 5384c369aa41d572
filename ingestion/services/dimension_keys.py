"""Dimension keys of a source: each is a column of the lake's files, whose number is limited.

A key counts from its first event until the source is deleted. An event with one key too many is rejected; the events
before it in its batch, and those with known keys, are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from django.db import connection, transaction
from msgspec import structs

from finops.lake.usage.columns import keys_of
from finops.lib import clock, prepared_statements
from ingestion.events import LONG_DIMENSION_KEY, MAX_DIMENSION_KEY, MAX_DIMENSION_KEYS, TOO_MANY_KEYS
from ingestion.parsing import Batch, Rejection

_keys_by_source: dict[int, frozenset[str]] = {}
"""Committed keys by source, so that a push without a new one needs no statement. Keys of a source are only added."""
_MAX_CACHED_KEYS: Final = 50_000
"""Maximum number of cached keys of all sources in a process: 15 MB at most."""


def are_cached(*, source_id: int, batch: Batch) -> bool:
    """Return whether this process has cached that all dimension keys of the batch are stored."""
    return batch.events.keys <= _keys_by_source.get(source_id, frozenset())


def admit(*, account_id: int, source_id: int, batch: Batch) -> Batch:
    """Return the batch without events that have too many or too long keys; new keys of the others are stored.

    In the caller's transaction. No statement if this process has cached all keys of the batch; else one, or four with
    a new key: then another push of the source with a new key waits until the transaction ends.
    """
    if are_cached(source_id=source_id, batch=batch):
        return batch
    stored_keys = _stored_keys(source_id)
    if not batch.events.keys <= stored_keys:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [f"dimension keys {source_id}"])
        stored_keys = _stored_keys(source_id)
        batch = _reject_excess_keys(batch, stored_keys)
        if names := sorted(batch.events.keys - stored_keys):
            with connection.cursor() as cursor:
                cursor.execute(_INSERT, [account_id, source_id, clock.now(), names])
    transaction.on_commit(partial(_remember, source_id, batch.events.keys | stored_keys))
    return batch


def check(*, source_id: int, batch: Batch) -> Batch:
    """Return the batch as `admit` does, without storing keys."""
    return _reject_excess_keys(batch, _stored_keys(source_id)) if batch.events.keys else batch


def _reject_excess_keys(batch: Batch, stored_keys: set[str]) -> Batch:
    room = max(0, MAX_DIMENSION_KEYS - len(stored_keys))
    unseen_keys = batch.events.keys - stored_keys
    if len(unseen_keys) <= room and max(map(len, unseen_keys), default=0) <= MAX_DIMENSION_KEY:
        return batch
    rejections, new = list[Rejection](), set[str]()
    for position, dimensions in zip(batch.events.positions, batch.events.dimensions, strict=True):
        more = keys_of([dimensions]) - stored_keys - new
        if max(map(len, more), default=0) > MAX_DIMENSION_KEY:
            rejections.append(Rejection(position, LONG_DIMENSION_KEY))
        elif more and len(new) + len(more) > room:
            rejections.append(Rejection(position, TOO_MANY_KEYS))
        else:
            new |= more
    return _drop_events(batch, rejections)


def _drop_events(batch: Batch, rejections: Sequence[Rejection]) -> Batch:
    dropped_positions = {rejection.index for rejection in rejections}
    indexes = [at for at, position in enumerate(batch.events.positions) if position not in dropped_positions]
    return structs.replace(
        batch,
        events=batch.events.take(indexes),
        names=[batch.names[at] for at in indexes],
        event_ids=[batch.event_ids[at] for at in indexes],
        rejected=sorted([*batch.rejected, *rejections], key=lambda rejection: rejection.index),
        rounded=[at for at in batch.rounded if at not in dropped_positions],
    )


def _remember(source_id: int, keys: frozenset[str]) -> None:
    if sum(map(len, list(_keys_by_source.values()))) > _MAX_CACHED_KEYS:
        _keys_by_source.clear()
    _keys_by_source[source_id] = keys


def _stored_keys(source_id: int) -> set[str]:
    rows = prepared_statements.fetch(
        "SELECT name FROM ingestion_usagedimension WHERE source_id = %s", [source_id]
    )
    return {name for (name,) in rows}


_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_INSERT: Final = """
INSERT INTO ingestion_usagedimension (account_id, source_id, name, first_seen_at)
SELECT %s, %s, name, %s FROM unnest(%s::text[]) AS new(name)
"""

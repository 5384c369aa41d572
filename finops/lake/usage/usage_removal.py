"""Permanent removal of usage: one batch, or all that is older than the account's retention."""

from __future__ import annotations

from datetime import date
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet, Sum

from accounts.models import Account
from finops.lake.models import LakeSegment
from finops.lake.storage import locks, segment_rewriter
from finops.lake.usage.usage_segments import insert_usage_rows, live_usage, new_files, retire
from finops.lib import clock


@transaction.atomic
def void_batch(*, account: Account, source_id: int, batch: UUID, first_day: date, last_day: date) -> int:
    """Remove every event of a batch, pending or in segments, when the transaction commits, and return how many there were.

    The days are those of the batch's first and last event, inclusive. A repeated call finds 0. Files that contain events of
    the batch are rewritten without them: a second a million rows of `rows_to_scan` that are in such files. Pushes and
    queries continue; flushes of the account wait.
    """
    locks.lock_usage(account)
    removed = _remove_waiting(account, source_id, batch)
    segments = list(_segments(account, source_id, first_day, last_day))
    rows_by_segment = segment_rewriter.rows_of_batch(account, segments, batch)
    with new_files() as new:
        for segment in segments:
            remaining = segment.rows - rows_by_segment.get(segment.pk, 0)
            if 0 < remaining < segment.rows:
                new.append(segment_rewriter.rewrite(account, [segment], rows=remaining, excluded_batch=batch))
        retire(account, rows_by_segment)
        insert_usage_rows(account, new)
    return removed + sum(rows_by_segment.values())


def rows_to_scan(*, account: Account, source_id: int, first_day: date, last_day: date) -> int:
    """The rows of the segments that `void_batch` must read, and rewrite at worst: a measure of how long it will take."""
    rows = _segments(account, source_id, first_day, last_day).aggregate(rows=Sum("rows"))["rows"]
    return rows or 0


@transaction.atomic
def drop_usage_before(*, account: Account, month: date) -> int:
    """Retire the events of all months before this one (its first day) and return how many were in segments.

    Whole segments are retired, and each is of one month: a month is removed when all of it is too old, not day by day.
    Events of those months that are still pending are removed by the first call after their flush.
    """
    locks.lock_usage(account)
    old = live_usage(account).filter(month__lt=month)
    rows = old.aggregate(rows=Sum("rows"))["rows"]
    old.update(retired_at=clock.now())
    return rows or 0


def _remove_waiting(account: Account, source_id: int, batch: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE, [account.pk, source_id, batch])
        return int((cursor.fetchone() or (0,))[0])


_REMOVE: Final = """
WITH gone AS (
    DELETE FROM lake_usageinbox WHERE account_id = %s AND source_id = %s AND batch = %s RETURNING events
) SELECT coalesce(sum(events), 0) FROM gone
"""


def _segments(account: Account, source_id: int, first_day: date, last_day: date) -> QuerySet[LakeSegment]:
    of_source = live_usage(account).filter(source_id=source_id)
    return of_source.filter(first_day__lte=last_day, last_day__gte=first_day).order_by("pk")

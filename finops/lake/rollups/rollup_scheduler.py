"""Scheduling of rollups: the database records which cost segments have not been checked, so a lost message does no harm."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import Count, QuerySet

from accounts.models import Account
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.rollups import rollups
from finops.lake.rollups.rollups import LEVELS, Level, NewRollup
from finops.lake.schema import Kind
from finops.lake.storage import locks
from finops.lib import clock, time_limit

logger = logging.getLogger(__name__)

LEAST_ROWS: Final = 50_000
"""Smaller segments are read as fast as they are opened, so they get no rollup."""

MAX_WORKERS: Final = 8
"""The most workers that are asked to roll up one account's segments at once."""


def due_accounts() -> dict[int, int]:
    """The ids of accounts with cost segments to roll up, each with the workers that they could employ: one a segment, at
    most 8. One statement, on an index of such segments only."""
    counts = _due_segments().order_by("account").values_list("account").annotate(count=Count("pk"))
    return {account_id: min(count, MAX_WORKERS) for account_id, count in counts}


def roll_up_account(
    account: Account, *, levels: Sequence[Level] = LEVELS, least_rows: int = LEAST_ROWS
) -> int:
    """Write the rollups of an account's unchecked live segments and return how many segments were checked.

    Queries are correct before, meanwhile and after. Concurrent calls share the segments. Safe to be killed at any point. A
    segment that fails is logged and retried the next time. Cost: see `rollups.write_rollups`.
    """
    count = 0
    for pk in (
        _due_segments(least_rows).filter(account=account).order_by("-month").values_list("pk", flat=True)
    ):
        time_limit.check()
        try:
            count += _roll_up_segment(account, pk, levels)
        except Exception:
            logger.exception("lake: segment %s could not be summarised; questions read its lines", pk)
    return count


@transaction.atomic
def _roll_up_segment(account: Account, pk: int, levels: Sequence[Level]) -> bool:
    """Roll up a segment; return False when another process does or did."""
    if not locks.try_lock_rollups(pk):
        return False
    # Unscoped: a task names the account itself.
    segment = LakeSegment.objects.unscoped().filter(pk=pk, summarised_at=None, retired_at=None).first()
    if segment is None:  # replaced or rolled up meanwhile
        return False
    new = rollups.write_rollups(account, segment, levels)
    try:
        _insert_rollup_rows(segment, new)
    except BaseException:
        rollups.discard(new)
        raise
    return True


def _insert_rollup_rows(segment: LakeSegment, new: Sequence[NewRollup]) -> None:
    due = LakeSegment.objects.unscoped().filter(pk=segment.pk, summarised_at=None)
    if not due.update(
        summarised_at=clock.now()
    ):  # done by a worker of the previous version, which has another lock
        raise RuntimeError(f"segment {segment.pk} has rollups already")
    LakeRollup.objects.unscoped().bulk_create(
        LakeRollup(
            account_id=segment.account_id,
            segment=segment,
            path=each.path,
            without=each.dropped_columns,
            rows=each.rows,
            bytes=each.bytes,
            checksum=each.checksum,
        )
        for each in new
    )


def _due_segments(least_rows: int = LEAST_ROWS) -> QuerySet[LakeSegment]:
    # Unscoped: the pass serves every account.
    every = LakeSegment.objects.unscoped()
    return every.filter(
        kind=Kind.COST.value, retired_at__isnull=True, summarised_at__isnull=True, rows__gte=least_rows
    )

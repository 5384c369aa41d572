"""Scheduling of rollups: the database records which cost segments have not been checked, so a lost message does no harm."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

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


def due_accounts() -> list[int]:
    """The ids of accounts with cost segments to roll up. One statement, on an index of such segments only."""
    return list(_due_segments().order_by("account").values_list("account", flat=True).distinct())


def roll_up_account(
    account: Account, *, levels: Sequence[Level] = LEVELS, least_rows: int = LEAST_ROWS
) -> int:
    """Write the rollups of an account's unchecked live segments and return how many segments were checked.

    Queries are correct before, meanwhile and after. Of two concurrent calls one does the work, the other returns. Safe to
    be killed at any point. A segment that fails is logged and retried the next time. Cost: see `rollups.write_rollups`.
    """
    count = 0
    for pk in (
        _due_segments(least_rows).filter(account=account).order_by("-month").values_list("pk", flat=True)
    ):
        time_limit.check()
        try:
            is_locked = _roll_up_segment(account, pk, levels)
        except Exception:
            logger.exception("lake: segment %s could not be summarised; questions read its lines", pk)
            continue
        if not is_locked:
            return count
        count += 1
    return count


@transaction.atomic
def _roll_up_segment(account: Account, pk: int, levels: Sequence[Level]) -> bool:
    """Roll up a segment; return False when another process holds the lock."""
    if not locks.try_lock_rollups(account):
        return False
    # Unscoped: a task names the account itself.
    segment = LakeSegment.objects.unscoped().filter(pk=pk, summarised_at=None, retired_at=None).first()
    if segment is None:  # swapped meanwhile
        return True
    new = rollups.write_rollups(segment, levels)
    try:
        _insert_rollup_rows(segment, new)
    except BaseException:
        rollups.discard(new)
        raise
    return True


def _insert_rollup_rows(segment: LakeSegment, new: Sequence[NewRollup]) -> None:
    LakeSegment.objects.unscoped().filter(pk=segment.pk).update(summarised_at=clock.now())
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

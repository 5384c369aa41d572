"""Making new segments of usage current, and retiring old ones, within a transaction that holds `lock_usage`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from django.db.models import QuerySet

from accounts.models import Account
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.segments import NewSegment
from finops.lake.storage.storage import storage
from finops.lib import clock

logger = logging.getLogger(__name__)


@contextmanager
def new_files() -> Iterator[list[NewSegment]]:
    """Yield a list of files that are removed when the block, which is within the transaction, ends with an error.

    Not when the commit fails: PostgreSQL may have committed although its reply was lost. Such files, and those of a killed
    process, are removed by the sweep a day later unless the manifest names them.
    """
    new: list[NewSegment] = []
    try:
        yield new
    except BaseException:
        for segment in new:
            _remove(segment.path)
        raise


def _remove(path: str) -> None:
    try:
        storage().delete(path)
    except Exception:  # the storage failed; the sweep removes the file
        logger.exception("lake: could not remove %s, which nothing names", path)


def insert_usage_rows(account: Account, new: Sequence[NewSegment]) -> None:
    """Make these segments of any of the account's sources current when the transaction commits."""
    for source_id, of_source in groupby(sorted(new, key=_source_id), key=_source_id):
        segments.add_segments(account=account, kind=Kind.USAGE, source_id=source_id, new=list(of_source))


def _source_id(segment: NewSegment) -> int:
    return segment.source_id


def accounts_with_usage() -> list[int]:
    """The ids of accounts that have segments of usage."""
    # Unscoped: the nightly pass serves every account.
    every = LakeSegment.objects.unscoped().filter(kind=Kind.USAGE.value, retired_at__isnull=True)
    return list(every.order_by("account").values_list("account", flat=True).distinct())


def live_usage(account: Account) -> QuerySet[LakeSegment]:
    """The current segments of usage."""
    # Unscoped: tasks name the account themselves.
    every = LakeSegment.objects.unscoped()
    return every.filter(account=account, kind=Kind.USAGE.value, retired_at__isnull=True)


def retire(account: Account, ids: Collection[int]) -> bool:
    """Retire these segments. Returns False, without any change, when one of them is already retired."""
    live = live_usage(account).filter(pk__in=ids)
    if live.count() != len(set(ids)):
        return False
    live.update(retired_at=clock.now())
    return True

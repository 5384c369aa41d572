"""Removal of files that are no longer current."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from itertools import islice
from operator import or_
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import Account
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import locks
from finops.lake.storage.segments import ORPHAN_GRACE_PERIOD, manifest_paths
from finops.lake.storage.storage import storage
from finops.lib import clock
from finops.lib.registry import Registry

RETIRED_GRACE_PERIOD: Final = timedelta(hours=1)
"""A reader that loaded its manifest before a swap still finds its files; a query has 20 s."""

PREVIOUS_VERSION_PERIOD: Final = timedelta(days=14)
"""How long the version that the newest import of a month replaced is kept, for comparison. One version of each
month and source, none of a deleted source."""


segment_holds: Registry[Callable[[], Q]] = Registry("hold on replaced segments")
"""Conditions on LakeSegment that other apps add: replaced cost files that meet one are kept, while their source has a
current one."""


@dataclass(frozen=True)
class SweepResult:
    """The number of files that one sweep removed."""

    retired: int
    orphans: int


def sweep() -> SweepResult:
    """Remove files retired for an hour with their rows, except the previous version of a month, and files older than a day
    that no row names.

    Over all accounts; safe to run twice at once and to be killed at any point. Nothing is removed while a backup runs: the
    next sweep does it.
    """
    with locks.removing_files() as is_free:
        if not is_free:
            return SweepResult(retired=0, orphans=0)
        swept = SweepResult(retired=_sweep_retired_segments(), orphans=_sweep_orphans())
    storage().trim()
    return swept


def remove_files(account: Account) -> int:
    """Remove every file of an account that is being deleted, whether or not a row names it, and return how many.

    While a backup runs the files stay; the sweep removes them a day later, as files that no row names.
    """
    with locks.removing_files() as is_free:
        files = list(storage().files(f"{account.pk}/")) if is_free else []
        for file in files:
            storage().delete(file.path)
    return len(files)


def count_files(account_number: int) -> int:
    """Count the files of an account, whether or not a row names them."""
    return sum(1 for _file in storage().files(f"{account_number}/"))


def _sweep_retired_segments() -> int:
    # Unscoped: the sweep serves every account.
    over = LakeSegment.objects.unscoped().filter(retired_at__lt=clock.now() - RETIRED_GRACE_PERIOD)
    over = over.exclude(Exists(_current_of_month()), ~Exists(_later_version()), _is_recent_cost())
    if segment_holds:
        held = reduce(or_, (hold() for hold in segment_holds.values()))
        over = over.exclude(held, Exists(_current_of_source()), kind=Kind.COST.value)
    count = 0
    for segment in over.iterator():
        rollups = LakeRollup.objects.unscoped().filter(segment=segment)
        for path in (segment.path, *rollups.values_list("path", flat=True)):
            storage().delete(path)  # the file first: after a crash the row remains for the next sweep
        segment.delete()
        count += 1
    return count


def _is_recent_cost() -> Q:
    return Q(kind=Kind.COST.value, retired_at__gte=clock.now() - PREVIOUS_VERSION_PERIOD)


def _of_same_month() -> QuerySet[LakeSegment]:
    names = ("account", "kind", "source_id", "month")
    return LakeSegment.objects.unscoped().filter(**{name: OuterRef(name) for name in names})


def _current_of_month() -> QuerySet[LakeSegment]:
    """The current segments of the row's month; none for a deleted source."""
    return _of_same_month().filter(retired_at__isnull=True)


def _current_of_source() -> QuerySet[LakeSegment]:
    rows = LakeSegment.objects.unscoped().filter(retired_at__isnull=True)
    return rows.filter(**{name: OuterRef(name) for name in ("account", "kind", "source_id")})


def _later_version() -> QuerySet[LakeSegment]:
    return _of_same_month().filter(retired_at__gt=OuterRef("retired_at"))


def _sweep_orphans() -> int:
    count = 0
    for path in orphans():
        storage().delete(path)
        count += 1
    return count


def orphans() -> Iterator[str]:
    """Paths of files that no row names and that are too old to belong to a running import. One query for 1,000 files."""
    oldest = clock.now() - ORPHAN_GRACE_PERIOD
    aged = (file.path for file in storage().files() if file.modified < oldest)
    while paths := set(islice(aged, 1_000)):
        yield from paths - manifest_paths(paths)

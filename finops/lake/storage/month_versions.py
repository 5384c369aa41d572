"""A billing month of cost after each source's newest import, compared with the version that the import replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from accounts.models import Account
from finops.lake.engine import engine
from finops.lake.engine.compiler import File
from finops.lake.engine.version_sql import version_sql
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.manifest import SegmentFile
from finops.lib.answers import group_by

LINE_COLUMNS: Final = (
    *("charge_date", "provider", "account_id", "service", "region", "usage_type", "sku_id", "resource_id"),
    *("charge_category", "charge_class", "charge_frequency", "charge_description"),
    *("pricing_category", "commitment_id", "commitment_status", "currency"),
)
"""The columns that identify a line. Bills have no line id, so lines that are equal in all of these are compared by their
sums."""

_AMOUNTS: Final = ("billed_cost", "effective_cost")


@dataclass(frozen=True)
class MonthVersions:
    """The two newest versions of a source's month."""

    source_id: int
    replaced_at: datetime
    before: tuple[LakeSegment, ...]
    after: tuple[LakeSegment, ...]


def versions_of(account: Account, month: date) -> tuple[list[MonthVersions], set[int]]:
    """Return the versions of each source whose previous version is still stored, and the sources of the month that have
    none. One query."""
    rows = LakeSegment.objects.unscoped().filter(account=account, kind=Kind.COST.value, month=month)
    versions, other_sources = [], set()
    for source, segments in group_by(rows.order_by("source_id", "path"), lambda each: each.source_id).items():
        after = tuple(each for each in segments if each.retired_at is None)
        moments = [each.retired_at for each in segments if each.retired_at is not None]
        if not moments or not after:
            other_sources |= {source} if after else set()
            continue
        moment = max(moments)
        before = tuple(
            each
            for each in segments
            if each.created_at < moment and (each.retired_at is None or each.retired_at >= moment)
        )
        versions.append(MonthVersions(source, moment, before, after))
    return versions, other_sources


def months_with_versions(account: Account) -> list[date]:
    """Billing months with a stored replaced version, the newest first. One query."""
    rows = LakeSegment.objects.unscoped().filter(account=account, kind=Kind.COST.value)
    old = rows.filter(retired_at__isnull=False).order_by("-month")
    return list(old.values_list("month", flat=True).distinct())


def compare_lines(
    account: Account, versions: Sequence[MonthVersions], *, most: int
) -> tuple[pa.Table, pa.Table]:
    """Return sums by currency and change of lines (`added`, `gone`, `changed`, `same`), and the `most` largest changes of
    groups of lines that are equal in LINE_COLUMNS. One scan of both versions. Raises LakeUnavailable."""
    before = {each.path: each for version in versions for each in version.before}
    after = {each.path: each for version in versions for each in version.after}
    files = [_file(each) for each in (*before.values(), *after.values())]

    def statement(local: Sequence[File]) -> str:
        groups = version_sql(local[: len(before)], local[len(before) :], LINE_COLUMNS, _AMOUNTS)
        parts = _PARTS.format(most=int(most), columns=", ".join(LINE_COLUMNS))
        return f"WITH groups AS ({groups}), compared AS MATERIALIZED ({_COMPARED}) {parts}"

    with engine.read_batches(files, statement, account=account) as reader:
        table = reader.read_all()
    is_sum = pc.is_null(table["place"])
    return table.filter(is_sum), table.filter(pc.invert(is_sum)).sort_by("place")


_COMPARED: Final = """
SELECT *, CASE WHEN lines_before = 0 THEN 'added' WHEN lines_after = 0 THEN 'gone'
    WHEN lines_before <> lines_after OR billed_cost_before <> billed_cost_after
        OR effective_cost_before <> effective_cost_after THEN 'changed' ELSE 'same' END AS status
FROM groups
"""
# Both read the groups that are computed once. A part has nulls where it lacks a column of the other.
_PARTS: Final = """
SELECT currency, status, sum(lines_before)::BIGINT AS lines_before, sum(lines_after)::BIGINT AS lines_after,
    sum(billed_cost_before) AS billed_before, sum(billed_cost_after) AS billed_after,
    sum(effective_cost_before) AS effective_before, sum(effective_cost_after) AS effective_after, NULL::BIGINT AS place
FROM compared GROUP BY currency, status
UNION ALL BY NAME
SELECT * EXCLUDE (lines_before, lines_after), lines_before::BIGINT AS lines_before, lines_after::BIGINT AS lines_after,
    row_number() OVER (ORDER BY greatest(
        abs(billed_cost_after - billed_cost_before), abs(effective_cost_after - effective_cost_before)
    ) DESC, {columns}) AS place
FROM compared WHERE status <> 'same' QUALIFY place <= {most}
"""


def segments_at(account: Account, paths: Sequence[str]) -> dict[str, LakeSegment]:
    """The stored cost segments of these paths, replaced or not, by path. One query."""
    rows = LakeSegment.objects.unscoped().filter(account=account, kind=Kind.COST.value, path__in=paths)
    return {each.path: each for each in rows}


def _file(segment: LakeSegment) -> SegmentFile:
    return SegmentFile(segment.path, segment.checksum, frozenset(segment.columns))

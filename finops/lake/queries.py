"""Queries over the manifest: which files are current, which days they cover, which keys they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import F, Func, Max, Min, OuterRef, QuerySet, Subquery, Sum, TextField, Value

from accounts.models import Account
from finops.lake import schema
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.manifest import CostKeys, SegmentFile, cost_tag_keys


@dataclass(frozen=True)
class SourceRange:
    """The data of one source in the lake."""

    source_id: int
    first_day: date
    last_day: date
    rows: int


@dataclass(frozen=True)
class DataRange:
    """The data of an account in the lake: days and rows over all sources, and of each source."""

    first_day: date
    last_day: date
    rows: int
    sources: list[SourceRange]


@dataclass(frozen=True)
class CurrentFile:
    """A current Parquet file. `month` is the billing month of cost, that of the events of usage."""

    path: str
    source_id: int
    month: date
    rows: int
    bytes: int
    checksum: str


def lake_files(account: Account, kind: Kind) -> list[CurrentFile]:
    """All files with an account's cost or usage, by month: together they have each line once."""
    names = [field.name for field in fields(CurrentFile)]
    segments = _live(account, kind).order_by("month", "source_id", "path")
    return [CurrentFile(*row) for row in segments.values_list(*names)]


@dataclass(frozen=True)
class MonthSegments:
    """The current segments of a billing month of cost at one moment. No two files ever have the same path."""

    month: date
    first_day: date
    last_day: date
    rows: int
    files: tuple[SegmentFile, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that at least one of the files has."""
        return frozenset().union(*(file.columns for file in self.files))


def cost_months(account: Account) -> list[date]:
    """The billing months that have lines, in order."""
    return list(_live(account, Kind.COST).order_by("month").values_list("month", flat=True).distinct())


def month_segments(account: Account, month: date) -> MonthSegments | None:
    """The segments of one billing month of cost; None without a line."""
    segments = list(_live(account, Kind.COST).filter(month=month).order_by("path"))
    if not segments:
        return None
    return MonthSegments(
        month=month,
        first_day=min(each.first_day for each in segments),
        last_day=max(each.last_day for each in segments),
        rows=sum(each.rows for each in segments),
        files=tuple(SegmentFile(each.path, each.checksum, frozenset(each.columns)) for each in segments),
    )


def live_segments(account: Account, kind: Kind, start: date, end: date) -> QuerySet[LakeSegment]:
    """The segments that a query over these days (inclusive) reads, in a fixed order."""
    return _live(account, kind).filter(first_day__lte=end, last_day__gte=start).order_by("month", "path")


def segment_files(
    account: Account,
    kind: Kind,
    start: date,
    end: date,
    columns: Sequence[str],
    *,
    allow_rollups: bool = False,
) -> list[SegmentFile]:
    """The files of `live_segments`, in one statement, so an account's months are from the same moment.

    PostgreSQL finds which of `columns` a file has: with 1,000 keys a file, sending the names costs more. `allow_rollups`:
    with the smallest rollup that has all of these columns, where there is one.
    """
    segments = live_segments(account, kind, start, end).annotate(
        has=_PresentColumns(columns),
        rollup=_smallest_rollup(columns) if allow_rollups else Value(None, output_field=_TEXTS),
    )
    return [
        SegmentFile(
            path,
            checksum,
            frozenset(has),
            *(((rollup[0], rollup[1]), int(rollup[2]), int(rollup[3])) if rollup else (None, size, rows)),
        )
        for path, checksum, has, rollup, size, rows in segments.values_list(
            "path", "checksum", "has", "rollup", "bytes", "rows"
        )
    ]


def magnitudes(account: Account, kind: Kind, paths: Sequence[str]) -> list[tuple[int, dict[str, int] | None]]:
    """Return the rows of these segments, and the digits of the largest amount of each column; None if these are
    unknown."""
    # Also for a segment that was retired since the query's manifest was read.
    every = LakeSegment.objects.unscoped().filter(account=account, kind=kind.value)
    return list(every.filter(path__in=paths).values_list("rows", "magnitudes"))


_TEXTS: Final = ArrayField(TextField())


def _smallest_rollup(columns: Sequence[str]) -> Subquery:
    of_segment = LakeRollup.objects.unscoped().filter(segment=OuterRef("pk"))
    fitting = of_segment.exclude(without__has_any_keys=list(columns)).order_by("rows")
    texts = ArrayField(TextField())
    parts = Func(
        "path",
        "checksum",
        "bytes",
        "rows",
        function="",
        template="ARRAY[%(expressions)s]::text[]",
        output_field=texts,
    )
    return Subquery(fitting.values_list(parts)[:1])


def data_range(account: Account, kind: Kind) -> DataRange | None:
    """First day, last day and rows of the current data; None when there is none. For usage, the inbox is included."""
    sources = _usage_ranges(account) if kind is Kind.USAGE else _segment_ranges(account, kind)
    if not sources:
        return None
    return DataRange(
        first_day=min(source.first_day for source in sources),
        last_day=max(source.last_day for source in sources),
        rows=sum(source.rows for source in sources),
        sources=sources,
    )


def _segment_ranges(account: Account, kind: Kind) -> list[SourceRange]:
    totals = _live(account, kind).values("source_id").order_by("source_id")
    return [
        SourceRange(**row)
        for row in totals.annotate(
            first_day=Min(F("first_day")), last_day=Max(F("last_day")), rows=Sum(F("rows"))
        )
    ]


# One statement each, like the engine's: an event that moves from the inbox to a segment is counted once.
_USAGE_RANGES: Final = """
SELECT source_id, min(first_day), max(last_day), sum(rows)::bigint FROM (
    SELECT source_id, first_day, last_day, rows FROM lake_lakesegment
    WHERE account_id = %(account)s AND kind = 'usage' AND retired_at IS NULL
    UNION ALL
    SELECT source_id, first_day, last_day, events FROM lake_usageinbox WHERE account_id = %(account)s
) AS counted GROUP BY source_id ORDER BY source_id
"""
_DIMENSION_KEYS: Final = """
SELECT jsonb_array_elements_text(columns), NULL FROM lake_lakesegment
WHERE account_id = %(account)s AND kind = 'usage' AND retired_at IS NULL
UNION
SELECT NULL, json_array_elements_text(keys) FROM lake_usageinbox WHERE account_id = %(account)s
"""


def _usage_ranges(account: Account) -> list[SourceRange]:
    return [SourceRange(*row) for row in _fetch_rows(_USAGE_RANGES, account)]


def _fetch_rows(statement: str, account: Account) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"account": account.pk})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def key_columns(account: Account) -> set[str]:
    """Every tag and x_ column of a live cost segment, whatever the reader's limit."""
    columns = _live(account, Kind.COST).annotate(
        name=Func(F("columns"), function="jsonb_array_elements_text")
    )
    return {name for name in columns.values_list("name", flat=True).distinct() if schema.is_key_column(name)}


def tag_keys(account: Account) -> CostKeys:
    """Every tag key of a live cost segment, sorted; x_ columns are separate."""
    return cost_tag_keys(account)


def dimension_keys(account: Account) -> list[str]:
    """Every dimension key of a usage event, in a live segment or in the inbox, sorted."""
    rows = _fetch_rows(_DIMENSION_KEYS, account)
    stored = {schema.dimension_key(column) for column, _ in rows if column and schema.is_key_column(column)}
    return sorted(stored | {key for _, key in rows if key is not None})


def _live(account: Account, kind: Kind) -> QuerySet[LakeSegment]:
    # Unscoped: lake reads take the account as an argument, and this is the one place that reads the manifest.
    every = LakeSegment.objects.unscoped()
    return every.filter(account=account, kind=kind.value, retired_at__isnull=True)


class _PresentColumns(Func):
    """The given names that are in the manifest's `columns`, as an array."""

    template = "ARRAY(SELECT wanted.name FROM unnest(%(expressions)s ? wanted.name)"
    arg_joiner = "::text[]) AS wanted(name) WHERE "

    def __init__(self, names: Sequence[str], **extra: Any) -> None:
        super().__init__(Value(list(names), output_field=_TEXTS), F("columns"), output_field=_TEXTS, **extra)

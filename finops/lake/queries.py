"""What the manifest knows: which files count, which days they cover, which keys they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import F, Func, Max, Min, QuerySet, Sum, TextField, Value

from accounts.models import Account
from finops.lake import schema
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind


@dataclass(frozen=True)
class SegmentFile:
    """A live file, and which of the asked columns it has."""

    path: str
    checksum: str
    columns: frozenset[str]


@dataclass(frozen=True)
class SourceRange:
    """What the lake holds of one source."""

    source_id: int
    first_day: date
    last_day: date
    rows: int


@dataclass(frozen=True)
class DataRange:
    """What the lake holds of an account: days and rows over all sources, and of each."""

    first_day: date
    last_day: date
    rows: int
    sources: list[SourceRange]


def live_segments(account: Account, kind: Kind, start: date, end: date) -> QuerySet[LakeSegment]:
    """The segments that a query over these days (inclusive) reads, in a fixed order."""
    return _live(account, kind).filter(first_day__lte=end, last_day__gte=start).order_by("month", "path")


def segment_files(
    account: Account, kind: Kind, start: date, end: date, columns: Sequence[str]
) -> list[SegmentFile]:
    """The files of `live_segments`, in one statement: so an account's months are those of one moment.

    Which of `columns` a file has is found in PostgreSQL: with 1,000 keys a file, sending the names costs more.
    """
    found = live_segments(account, kind, start, end).annotate(has=_PresentColumns(columns))
    return [
        SegmentFile(path, checksum, frozenset(has))
        for path, checksum, has in found.values_list("path", "checksum", "has")
    ]


def data_range(account: Account, kind: Kind) -> DataRange | None:
    """First day, last day and rows of what counts now; None when there is nothing."""
    totals = _live(account, kind).values("source_id").order_by("source_id")
    sources = [
        SourceRange(**row)
        for row in totals.annotate(
            first_day=Min(F("first_day")), last_day=Max(F("last_day")), rows=Sum(F("rows"))
        )
    ]
    if not sources:
        return None
    return DataRange(
        first_day=min(source.first_day for source in sources),
        last_day=max(source.last_day for source in sources),
        rows=sum(source.rows for source in sources),
        sources=sources,
    )


def tag_keys(account: Account) -> list[str]:
    """Every tag key that a live cost segment has, sorted."""
    return sorted(schema.tag_key(column) for column in _key_columns(account, Kind.COST))


def dimension_keys(account: Account) -> list[str]:
    """Every dimension key that a live usage segment has, sorted."""
    return sorted(schema.dimension_key(column) for column in _key_columns(account, Kind.USAGE))


def _live(account: Account, kind: Kind) -> QuerySet[LakeSegment]:
    # Unscoped: lake reads take the account as an argument, and this is the one place that reads the manifest.
    every = LakeSegment.objects.unscoped()
    return every.filter(account=account, kind=kind.value, retired_at__isnull=True)


def _key_columns(account: Account, kind: Kind) -> set[str]:
    every = _live(account, kind).annotate(name=Func(F("columns"), function="jsonb_array_elements_text"))
    names = every.values_list("name", flat=True).distinct()
    return {name for name in names if schema.is_key_column(name)}


class _PresentColumns(Func):
    """Those of the given names that the manifest's `columns` has, as an array."""

    template = "ARRAY(SELECT wanted.name FROM unnest(%(expressions)s ? wanted.name)"
    arg_joiner = "::text[]) AS wanted(name) WHERE "

    def __init__(self, names: Sequence[str], **extra: Any) -> None:
        array = ArrayField(TextField())
        super().__init__(Value(list(names), output_field=array), F("columns"), output_field=array, **extra)

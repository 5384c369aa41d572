"""Writing segments and making them current."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from django.db import transaction

from accounts.models import Account
from finops.lake import schema as schemas
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import locks
from finops.lake.storage.lake_version import file_ending
from finops.lake.storage.storage import storage
from finops.lake.usage import inbox
from finops.lib import clock
from finops.lib.advisory_lock import lock_until_commit

ROW_GROUP_ROWS: Final = 122_880
"""DuckDB's own unit of parallel work; smaller groups cost it time, larger ones leave cores idle."""

ROW_GROUP_CELLS: Final = 2**25
"""The most values of a row group: a file of more than 273 columns has smaller ones, because one is held in memory."""

ROW_GROUP_BYTES: Final = 256 << 20
"""The most bytes of a row group: long texts make it have fewer rows."""

SAMPLE_ROWS: Final = 8_192
"""Rows that are sampled for how different the amounts of a column are."""

ORPHAN_GRACE_PERIOD: Final = timedelta(hours=24)
"""A file without a manifest row may belong to an import that still runs."""

SWAP_DEADLINE: Final = ORPHAN_GRACE_PERIOD / 2
"""A swap refuses older files, so that the sweep can never remove a file that is about to be named."""

_LIMITS: Final = {schemas.MONEY: schemas.MONEY_LIMIT, schemas.QUANTITY: schemas.QUANTITY_LIMIT}


@dataclass(frozen=True)
class NewSegment:
    """A finished file that no manifest row names yet."""

    account_id: int
    kind: Kind
    source_id: int
    month: date
    path: str
    columns: list[str]
    rows: int
    bytes: int
    first_day: date
    last_day: date
    checksum: str
    written_at: datetime
    magnitudes: dict[str, int]
    """For each amount column, the digits before the decimal point of its largest amount."""
    carried_by: date | None = None


def write_segment(
    *,
    account_id: int,
    kind: Kind,
    source_id: int,
    month: date,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
) -> NewSegment:
    """Write one immutable file, durably; no query sees it before `swap_segments`.

    `schema` has the base columns of `kind`, of those of `schema.OPTIONAL` any, and then key columns (at most 1,000); the
    string columns may be dictionary-encoded, which writes faster. Memory holds one row group of 122,880 rows, or fewer of
    more than 273 columns. `month` is its first day. ValueError when there are no rows, a row has no day, or the schema is
    not of that kind; then no file stays.
    """
    _check_schema(kind, schema)
    store = storage()
    file = store.new_file()
    try:
        _write(file, batches, schema)
        metadata = pq.read_metadata(file)
        first_day, last_day = _day_range(metadata, schema, schemas.day_column(kind))
        magnitudes = magnitudes_of(metadata, schema)
        size, checksum = file.stat().st_size, sha256(file)
        path = f"{account_id}/{kind}/{month:%Y-%m}/{source_id}-{uuid.uuid4().hex}{file_ending()}"
        store.put(file, path)
    finally:
        file.unlink(missing_ok=True)
    return NewSegment(
        account_id=account_id,
        kind=kind,
        source_id=source_id,
        month=month.replace(day=1),
        path=path,
        columns=schema.names,
        rows=metadata.num_rows,
        bytes=size,
        first_day=first_day,
        last_day=last_day,
        checksum=checksum,
        written_at=clock.now(),
        magnitudes=magnitudes,
    )


def swap_segments(
    *,
    account: Account,
    kind: Kind,
    source_id: int,
    months: Collection[date],
    new: Sequence[NewSegment],
) -> None:
    """Replace all segments of these months of a source with `new`, in one transaction.

    Readers see the old files or the new ones, never some of both. Months without a new segment are empty afterwards. A
    segment with `carried_by` adds corrections to its month, which need not be one of these (`segments_to_replace`). Two
    swaps of one source wait for each other, and the later one wins. ValueError for a segment of another account, source or
    month, and for one written more than 12 hours ago.
    """
    first_days = {month.replace(day=1) for month in months}
    carried = {(segment.month, segment.carried_by) for segment in new if segment.carried_by}
    for segment in new:
        _check_belongs(segment, account, kind, source_id, first_days)
    with transaction.atomic():
        lock_source(account, kind, source_id)
        replaced: list[LakeSegment] = segments_to_replace(
            live_of_source(account, kind, source_id), first_days, carried
        )
        _live(account, kind, source_id).filter(pk__in=[segment.pk for segment in replaced]).update(
            retired_at=clock.now()
        )
        _insert_manifest_rows(account, new)


class MonthFacts(Protocol):
    """The lines of a month: its own, or corrections that another month's file contained."""

    @property
    def month(self) -> date: ...

    @property
    def carried_by(self) -> date | None: ...


T = TypeVar("T", bound=MonthFacts)


def segments_to_replace(
    live: Iterable[T], months: Collection[date], carried: Collection[tuple[date, date | None]] = ()
) -> list[T]:
    """Return the live segments of a source that a swap of these months and corrections (month, carried_by) replaces: the
    months' own lines, the corrections that these months contained before, and such corrections.

    So corrections of a month stay when only that month is imported again: they belong to the file that contained them.
    """
    return [
        segment
        for segment in live
        if (segment.month in months if segment.carried_by is None else segment.carried_by in months)
        or (segment.month, segment.carried_by) in carried
    ]


def live_of_source(account: Account, kind: Kind, source_id: int) -> list[LakeSegment]:
    """The current segments of a source, by month. One query."""
    return list(_live(account, kind, source_id).order_by("month", "path"))


def add_segments(*, account: Account, kind: Kind, source_id: int, new: Sequence[NewSegment]) -> None:
    """Add `new` to the current segments of its months, in the caller's transaction.

    So events that leave the inbox in that transaction count once at any moment. It waits for swaps of the source, and they
    for the end of the transaction. ValueError as `swap_segments` raises it.
    """
    for segment in new:
        _check_belongs(segment, account, kind, source_id, {segment.month})
    with transaction.atomic():
        lock_source(account, kind, source_id)
        _insert_manifest_rows(account, new)


def retire_source(*, account: Account, kind: Kind, source_id: int) -> None:
    """Retire all facts of a source, including pending usage: the source is being deleted."""
    with transaction.atomic():
        if kind is Kind.USAGE:
            locks.lock_usage(account)  # a flush locks rows of the inbox first, then the source
        lock_source(account, kind, source_id)
        _live(account, kind, source_id).update(retired_at=clock.now())
        if kind is Kind.USAGE:
            inbox.discard(account_id=account.pk, source_id=source_id)


def discard(new: Iterable[NewSegment]) -> None:
    """Remove files of an import that will not be swapped in, now instead of at the sweep a day later."""
    paths = [segment.path for segment in new]
    named = manifest_paths(paths)
    for path in paths:
        if path not in named:
            storage().delete(path)


def _check_schema(kind: Kind, schema: pa.Schema) -> None:
    base = schemas.base_schema(kind)
    has = [name for name in base.names if name in schema.names or name not in schemas.OPTIONAL]
    keys = schema.names[len(has) :]
    if schema.names[: len(has)] != has:
        raise ValueError(f"A {kind} segment begins with the columns {has}, not {schema.names[: len(has)]}.")
    wrong = [field.name for field in schema if _plain_type(field.type) != _expected_type(base, field.name)]
    if wrong:
        raise ValueError(f"These columns do not have the type of a {kind} segment: {wrong}.")
    extensions = [name for name in keys if kind is Kind.COST and name.startswith(schemas.EXTENSION_PREFIX)]
    keys = [name for name in keys if name not in set(extensions)]
    if len(keys) > schemas.MAX_KEYS or len(set(keys)) < len(keys):
        raise ValueError(f"A segment has at most {schemas.MAX_KEYS} different key columns, not {len(keys)}.")
    if len(extensions) > schemas.MAX_EXTENSIONS or len(set(extensions)) < len(extensions):
        raise ValueError(
            f"A segment has at most {schemas.MAX_EXTENSIONS} different x_ columns, not {len(extensions)}."
        )
    foreign = [name for name in keys if not name.startswith(schemas.key_prefix(kind))]
    if foreign:
        raise ValueError(
            f"Key columns of a {kind} segment begin with {schemas.key_prefix(kind)!r}: {foreign}."
        )


def _expected_type(base: pa.Schema, name: str) -> pa.DataType:
    return base.field(name).type if name in base.names else pa.string()


def _plain_type(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _write(file: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
    # No Arrow schema in the file: readers would get dictionary types in place of plain strings.
    # Statistics of days and amounts only: those of texts skip nothing in unsorted rows, and take a fifth of the time.
    # Usage is sorted by metric, and questions name one.
    with_statistics = [field.name for field in schema if _has_statistics(field)]
    groups = row_groups(batches, schema)
    table = next(groups, None)
    dense = {name for name in schema.names if table is not None and _is_dense(table[name])}
    with pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=1,
        store_schema=False,
        write_statistics=with_statistics,
        use_dictionary=[name for name in schema.names if name not in dense],
    ) as writer:
        while table is not None:
            writer.write_table(table, row_group_size=_group_rows(schema))
            del table  # frees 60 MB before the next one is built
            table = next(groups, None)


def _is_dense(column: pa.ChunkedArray) -> bool:
    """Return whether nearly all amounts are different, as the costs of hourly charges are. A dictionary of such
    amounts takes three times as long to write, and a sum over them takes a sixth longer (measured)."""
    if not pa.types.is_decimal(column.type):
        return False
    sample = column.slice(0, SAMPLE_ROWS).drop_null()
    return len(sample) > SAMPLE_ROWS // 2 and len(sample.unique()) > len(sample) * 0.8


def _has_statistics(field: pa.Field) -> Any:
    if field.name in schemas.OPTIONAL and field.type == schemas.MOMENT:
        return False
    return field.name == "metric" or not pa.types.is_string(_plain_type(field.type))


def _group_rows(schema: pa.Schema) -> int:
    return min(ROW_GROUP_ROWS, ROW_GROUP_CELLS // len(schema))


def _day_range(metadata: pq.FileMetaData, schema: pa.Schema, day: str) -> tuple[date, date]:
    statistics = _statistics(metadata, schema, day)
    if not statistics:
        raise ValueError("A segment has at least one row.")
    missing = sum(column.null_count for column in statistics)
    if missing:
        raise ValueError(f"{missing} rows have no {day}.")
    return min(column.min for column in statistics), max(column.max for column in statistics)


def magnitudes_of(metadata: pq.FileMetaData, schema: pa.Schema) -> dict[str, int]:
    """For each amount column, the digits before the decimal point of its largest amount; read from the file's statistics,
    so at no cost. ValueError for an amount with which a sum could wrap around."""
    magnitudes = {}
    for field in schema:
        limit = _LIMITS.get(field.type)
        if limit is None:
            continue
        largest = max(
            (_largest(column) for column in _statistics(metadata, schema, field.name)), default=Decimal()
        )
        if largest >= limit:
            raise ValueError(f"{field.name} has an amount of {limit:,} or more.")
        magnitudes[field.name] = max(0, largest.adjusted() + 1) if largest else 0
    return magnitudes


def _largest(column: Any) -> Decimal:
    return max(abs(column.min), abs(column.max)) if column.has_min_max else Decimal()


def _statistics(metadata: pq.FileMetaData, schema: pa.Schema, column: str) -> list[Any]:
    """The statistics of a column, one for each row group."""
    place = schema.get_field_index(column)
    return [metadata.row_group(group).column(place).statistics for group in range(metadata.num_row_groups)]


def row_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int | None = None
) -> Iterator[pa.Table]:
    """Yield the rows in tables of a row group each: many small groups would make every query slower."""
    rows = rows or _group_rows(schema)
    buffered: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        buffered.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= rows or size >= ROW_GROUP_BYTES:
            table = pa.Table.from_batches(buffered, schema)
            whole = count - count % rows or count
            buffered = table.slice(whole).to_batches()
            yield table.slice(0, whole)
            del table
            count -= whole
            size = sum(each.nbytes for each in buffered)
        del batch
    if count:
        yield pa.Table.from_batches(buffered, schema)


def sha256(file: Path) -> str:
    """The SHA-256 of a file's content, in hex."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _check_belongs(
    segment: NewSegment, account: Account, kind: Kind, source_id: int, months: set[date]
) -> None:
    owner = (segment.account_id, segment.kind, segment.source_id)
    if owner != (account.pk, kind, source_id) or (segment.carried_by is None and segment.month not in months):
        raise ValueError(f"Segment {segment.path} is not of this account, kind, source and months.")
    if clock.now() - segment.written_at > SWAP_DEADLINE:
        raise ValueError(f"Segment {segment.path} was written more than 12 hours ago; write it again.")


def lock_source(account: Account, kind: Kind, source_id: int) -> None:
    """Wait for other swaps of this source, and hold the lock until the transaction ends.

    Row locks would not do: the second of two swaps would not see, and so not retire, the rows the first inserted.
    """
    lock_until_commit(f"lake {account.pk} {kind} {source_id}")


def _live(account: Account, kind: Kind, source_id: int) -> Any:
    # Unscoped: imports and tasks name the account themselves.
    rows = LakeSegment.objects.unscoped().filter(account=account, kind=kind.value, source_id=source_id)
    return rows.filter(retired_at__isnull=True)


def _insert_manifest_rows(account: Account, new: Iterable[NewSegment]) -> None:
    LakeSegment.objects.unscoped().bulk_create(_row(account, segment) for segment in new)


def _row(account: Account, segment: NewSegment) -> LakeSegment:
    return LakeSegment(
        account=account,
        kind=segment.kind.value,
        source_id=segment.source_id,
        month=segment.month,
        path=segment.path,
        columns=segment.columns,
        rows=segment.rows,
        bytes=segment.bytes,
        first_day=segment.first_day,
        last_day=segment.last_day,
        checksum=segment.checksum,
        carried_by=segment.carried_by,
        magnitudes=segment.magnitudes,
    )


def manifest_paths(paths: Collection[str]) -> set[str]:
    """The files among these that the manifest names, live or retired."""
    # Unscoped: a file belongs to whichever account's row names it.
    named = [model.objects.unscoped().filter(path__in=paths) for model in (LakeSegment, LakeRollup)]
    return {path for rows in named for path in rows.values_list("path", flat=True)}

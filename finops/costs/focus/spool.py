"""Rows on disk between reading and writing, one Arrow stream per billing month.

The tag columns of a month are known only after every file has been read, so tags are stored in their flat form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import date
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import DENSE
from finops.costs.focus.convert import DICTIONARY
from finops.costs.focus.parquetfile import merge_batches
from finops.costs.focus.prefetch_iterator import prefetch
from finops.costs.focus.tags import pairs
from finops.lake.schema import COST_SCHEMA, EXTENSION_PREFIX, OPTIONAL, tag_column

GROUP_ROWS: Final = 122_880
"""Rows per group: the lake's row group."""

GROUP_CELLS: Final = 2**25
"""Cells per group, the lake's limit too: a thousand tag keys need smaller groups, because a few are in memory."""

GROUP_BYTES: Final = 256 << 20
"""Bytes per group; 122,880 usual rows have 60 MB."""

FLAT_TAGS: Final = "tags"
_CONSTANT: Final = ("source", "billing_period")


def _field(field: pa.Field) -> pa.Field:
    return (
        pa.field(field.name, DICTIONARY)
        if pa.types.is_string(field.type) and field.name not in DENSE
        else field
    )


def spool_schema(optional: Collection[str]) -> pa.Schema:
    """Return the schema of spooled rows, with the named columns of those that a bill may lack."""
    fields = [field for field in _cost_fields(optional) if field.name not in _CONSTANT]
    return pa.schema([*fields, pa.field(FLAT_TAGS, DICTIONARY)])


def _cost_fields(optional: Collection[str]) -> list[pa.Field]:
    own = [pa.field(name, DICTIONARY) for name in optional if name.startswith(EXTENSION_PREFIX)]
    fields = [_field(field) for field in COST_SCHEMA if field.name not in OPTIONAL or field.name in optional]
    return [*fields, *own]


class Spool:
    """Open streams in `folder`, which the caller owns and removes."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._writers: dict[date, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def months(self) -> list[date]:
        return sorted(self._writers)

    def write(self, month: date, batch: pa.RecordBatch) -> None:
        if month not in self._writers:
            self._writers[month] = self._stack.enter_context(
                pa.ipc.new_stream(
                    self._stack.enter_context(pa.OSFile(str(self._path(month)), "wb")),
                    self._schema,
                    options=pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False),
                )
            )
        self._writers[month].write_batch(batch)

    def read(self, month: date) -> Generator[pa.RecordBatch]:
        with pa.OSFile(str(self._path(month)), "rb") as file, pa.ipc.open_stream(file) as stream:
            yield from stream

    def _path(self, month: date) -> Path:
        return self._folder / f"{month:%Y-%m}.arrow"


class MonthRows:
    """A billing month in the lake's form: the cost schema, then a column for each tag key.

    `parts` are batches of `spool_schema(optional)`, from the spool or the file itself; `on_batch` is called after each.
    """

    def __init__(
        self,
        month: date,
        parts: Callable[[], Generator[pa.RecordBatch]],
        *,
        source_id: str,
        optional: Collection[str],
        tag_keys: Sequence[str],
        actor_tag_keys: Sequence[str],
        on_batch: Callable[[], None] = lambda: None,
    ) -> None:
        self.month = month
        self._parts = parts
        self._source_id = source_id
        self._tag_keys = tag_keys
        self._actor_tag_keys = actor_tag_keys
        self._on_batch = on_batch
        self.schema = pa.schema(
            [
                *_cost_fields(optional),
                *(pa.field(tag_column(key), DICTIONARY) for key in tag_keys),
            ]
        )

        self._group_rows = max(1, min(GROUP_ROWS, GROUP_CELLS // len(self.schema)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield row groups of 122,880 rows (fewer above 273 columns) with one dictionary per column. Holds a few."""
        for group in prefetch(self._lake_groups(), waiting=1):
            self._on_batch()
            yield group
            del group

    def _lake_groups(self) -> Iterator[pa.RecordBatch]:
        with closing(self._parts()) as parts:
            yield from map(self._to_lake_schema, self._groups(parts))

    def _groups(self, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        count = size = 0
        for batch in parts:
            waiting.append(batch)
            count, size = count + batch.num_rows, size + batch.nbytes
            while count >= self._group_rows:
                last = waiting.pop()
                over = count - self._group_rows
                waiting.append(last.slice(0, last.num_rows - over))
                whole, waiting, count = waiting, [last.slice(last.num_rows - over)], over
                size = waiting[0].nbytes
                yield from _take_rows(whole)
            if size >= GROUP_BYTES:
                whole, waiting, count, size = waiting, [], 0, 0
                yield from _take_rows(whole)
        if count:
            yield from _take_rows(waiting)

    def _to_lake_schema(self, group: pa.RecordBatch) -> pa.RecordBatch:
        tags = group.column(FLAT_TAGS)
        sets = [dict(pairs(flat)) for flat in tags.dictionary.to_pylist()]
        size = group.num_rows
        columns = {name: group.column(name) for name in group.schema.names}
        columns["source"] = _constant(self._source_id, size)
        columns["billing_period"] = pa.repeat(pa.scalar(self.month, pa.date32()), size)
        columns["actor"] = self._actor(columns["actor"], tags, sets)
        for key, column in self._tag_columns(tags, sets):
            columns[tag_column(key)] = column
        return pa.record_batch([columns[name] for name in self.schema.names], schema=self.schema)

    def _actor(
        self, column: pa.DictionaryArray, tags: pa.DictionaryArray, sets: list[dict[str, str]]
    ) -> pa.Array:
        """Return the actor of each row: the file's own actor column, else the first actor tag of the row."""
        actors = [next((tags[key] for key in self._actor_tag_keys if key in tags), None) for tags in sets]
        if not any(actors):
            return column
        by_tag = _spread(actors, tags.indices)
        if column.null_count == len(column):
            return by_tag
        return pc.coalesce(column.dictionary_decode(), by_tag.dictionary_decode()).dictionary_encode()

    def _tag_columns(
        self, tags: pa.DictionaryArray, sets: list[dict[str, str]]
    ) -> Iterator[tuple[str, pa.Array]]:
        by_key: dict[str, list[tuple[int, str]]] = {}
        for place, tag_set in enumerate(sets):
            for key, value in tag_set.items():
                by_key.setdefault(key, []).append((place, value))
        for key in self._tag_keys:
            values: list[str | None] = [None] * len(sets)
            for place, value in by_key.get(key, ()):
                values[place] = value
            yield key, _spread(values, tags.indices)


def _take_rows(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge as `merge_batches` and empty the list: a group is 60 MB and must not be in memory twice."""
    merged = list(merge_batches(batches))
    batches.clear()
    while merged:
        yield merged.pop(0)


def _constant(value: str, size: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int32()), size), pa.array([value], pa.string())
    )


def _spread(values: list[str | None], indices: pa.Array) -> pa.DictionaryArray:
    """Expand values of distinct tag sets to the rows that have those sets."""
    distinct = pa.array(values, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(indices), distinct.dictionary)

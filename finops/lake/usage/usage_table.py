"""Conversion of pending events into the tables of segments: sorted, a column for each dimension key.

Pure: no database, no files.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.lake import schema as schemas
from finops.lake.schema import Kind
from finops.lake.usage.payload import DIMENSIONS

logger = logging.getLogger(__name__)

SORTED_BY: Final = ("metric", "day", "customer_id")
"""A query names one metric and some days: in this order it reads only the row groups that have them."""

MAX_SEGMENTS: Final = 64
"""The most segments that one table is split into, because each has at most 1,000 dimension keys."""

_SLICE_ROWS: Final = 16_384

Dimensions = dict[str, str]
_decode = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True)
class SegmentRows:
    """The rows of one segment."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def split_segments(pending: pa.Table) -> Iterator[SegmentRows]:
    """Split a table of pending events into segments: one, and more only for more than 1,000 dimension keys.

    `pending` has the columns of USAGE_SCHEMA and DIMENSIONS. No event is lost. An event of more than 1,000 keys keeps the
    first 1,000 by name; keys beyond those of 64 segments are dropped, the least used first; this is logged.
    """
    order = pc.sort_indices(pending, sort_keys=[(column, "ascending") for column in SORTED_BY])
    rows = pending.take(order)
    texts = rows[DIMENSIONS].combine_chunks().dictionary_encode()
    dimension_sets = [_decode(text) for text in texts.dictionary.to_pylist()]
    facts = rows.select(schemas.USAGE_SCHEMA.names)
    for first, last, keys in _key_groups(dimension_sets):
        if last - first == len(dimension_sets):
            yield _part(facts, texts.indices, dimension_sets, keys)
        else:
            mask = _has_code_between(texts.indices, first, last)
            yield _part(facts.filter(mask), texts.indices.filter(mask), dimension_sets, keys)


def _key_groups(dimension_sets: list[Dimensions]) -> Iterator[tuple[int, int, list[str]]]:
    """Adjacent dimensions with at most 1,000 keys together: from, to (exclusive), keys. At least one."""
    every = set().union(*dimension_sets)
    if len(every) <= schemas.MAX_KEYS:
        yield 0, len(dimension_sets), sorted(every)
        return
    first, keys, group_count = 0, set[str](), 1
    for place, dimensions in enumerate(dimension_sets):
        if len(keys) + len(dimensions) > schemas.MAX_KEYS and len(keys.union(dimensions)) > schemas.MAX_KEYS:
            if group_count == MAX_SEGMENTS:
                break
            if place > first:
                yield first, place, _most_used_keys(dimension_sets[first:place], keys)
                group_count += 1
            first, keys = place, set()
        keys.update(dimensions)
    last_sets = dimension_sets[first:]
    yield first, len(dimension_sets), _most_used_keys(last_sets, set().union(*last_sets))


def _most_used_keys(dimension_sets: Iterable[Dimensions], keys: set[str]) -> list[str]:
    """The most used keys when there are more than 1,000, ties by name."""
    if len(keys) <= schemas.MAX_KEYS:
        return sorted(keys)
    logger.warning("lake: events have %d dimension keys, a segment keeps %d", len(keys), schemas.MAX_KEYS)
    used = Counter(chain.from_iterable(dimension_sets))
    return sorted(sorted(keys, key=lambda key: (-used[key], key))[: schemas.MAX_KEYS])


def _has_code_between(codes: pa.Array, first: int, last: int) -> pa.Array:
    """Events without dimensions go with the first part."""
    mask = pc.and_(pc.greater_equal(codes, first), pc.less(codes, last))
    return pc.fill_null(mask, first == 0)


def _part(facts: pa.Table, codes: pa.Array, dimension_sets: list[Dimensions], keys: list[str]) -> SegmentRows:
    full = schemas.segment_schema(Kind.USAGE, keys)
    return SegmentRows(full, _batches(facts.combine_chunks(), codes, dimension_sets, keys, full))


def _batches(
    facts: pa.Table, codes: pa.Array, dimension_sets: list[Dimensions], keys: list[str], full: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for start in range(0, facts.num_rows, _SLICE_ROWS):
        base = facts.slice(start, _SLICE_ROWS)
        here = codes.slice(start, _SLICE_ROWS).dictionary_encode()
        slice_sets = [dimension_sets[code] for code in here.dictionary.to_pylist()]
        columns = [column.combine_chunks() for column in base.columns]
        columns += [_values(slice_sets, here.indices, key) for key in keys]
        yield pa.RecordBatch.from_arrays(columns, schema=full)


def _values(slice_sets: list[Dimensions], indices: pa.Array, key: str) -> pa.Array:
    return pa.array([dimensions.get(key) for dimensions in slice_sets], pa.string()).take(indices)

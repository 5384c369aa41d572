"""The live cost segments of an account, cached in this process and checked against PostgreSQL at every use.

Rows of the manifest never change except for being retired and rolled up, and no two segments ever have the same path. So
the paths that are live, and which of them are rolled up, identify a version, and one small statement for their digest tells
whether the cached version is current: nothing here is ever stale. Reading and parsing the rows took 2 ms of 5 of a small
query, 40 ms with 1,200 segments.

Queries that get the same manifest, such as the sections of a report, are answered over the same files.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import msgspec
from django.db import connection

from accounts.models import Account
from finops.lake import schema
from finops.lib.cost_access import CostLimit, current_limit
from finops.lib.errors import UserError

T = TypeVar("T")

ACCOUNTS: Final = 128
"""The most cached accounts; a large manifest (five years of 20 sources) takes half a megabyte."""

_LIVE: Final = "FROM lake_lakesegment WHERE account_id = %(account)s AND kind = 'cost' AND retired_at IS NULL"
COST_VERSION: Final = f"""(SELECT sha256(convert_to(string_agg(
    path || CASE WHEN summarised_at IS NULL THEN '' ELSE '+' END, ',' ORDER BY id
), 'UTF8')) {_LIVE})"""
"""The version of `account`'s manifest, for statements that read other things too."""

_VERSION: Final = f"SELECT {COST_VERSION}"
_SEGMENTS: Final = f"SELECT {COST_VERSION}, source_id, month, first_day, last_day, rows, path, carried_by {_LIVE} ORDER BY month, path"
_COLUMNS: Final = f"SELECT {COST_VERSION}, array(SELECT DISTINCT jsonb_array_elements_text(columns) {_LIVE})"
# Files of one source mostly have the same columns: each list of names comes once.
_FILES: Final = """
SELECT path, checksum, bytes, rows, columns_digest,
    CASE WHEN row_number() OVER (PARTITION BY columns_digest) = 1 THEN columns::text END, (
        SELECT json_agg(json_build_array(r.path, r.checksum, r.bytes, r.rows, r.without) ORDER BY r.rows)
        FROM lake_lakesummary r WHERE r.segment_id = segment.id
    )::text
FROM (
    SELECT id, path, checksum, bytes, rows, columns, md5(columns::text) AS columns_digest FROM lake_lakesegment
    WHERE account_id = %(account)s AND path = ANY(%(paths)s)
) AS segment
"""

MOST_COLUMNS: Final = 50_000
"""The most names in the different column lists of an account's files. With more, such as 1,000 keys in 50 lists, each query
reads PostgreSQL."""


@dataclass(frozen=True)
class SegmentFile:
    """A live file, with those of the requested columns that it has; `rollup` is another file with the same of these columns."""

    path: str
    checksum: str
    columns: frozenset[str]
    rollup: tuple[str, str] | None = None
    """The rollup's path and checksum."""
    bytes: int = 0
    """The size of the file, or of the rollup where there is one; 0 where it is not needed."""
    rows: int = 0
    """The rows, of the same file as `bytes`."""


@dataclass(frozen=True, slots=True)
class _StoredFile:
    """The parts of a file that do not change while its segment is in this version of the manifest."""

    whole: SegmentFile
    """The file with all of its columns."""
    rollups: tuple[tuple[SegmentFile, frozenset[str]], ...]
    """The file with each rollup, and the columns that the rollup drops; the smallest first."""

    def file(self, columns: Sequence[str], *, allow_rollups: bool) -> SegmentFile:
        """Return the file with those of `columns` that it has, and the smallest rollup that has all of them."""
        rollups = self.rollups if allow_rollups else ()
        smallest = next((file for file, without in rollups if without.isdisjoint(columns)), self.whole)
        return replace(smallest, columns=self.whole.columns.intersection(columns))


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """One row of the manifest, without its columns."""

    source_id: int
    month: date
    first_day: date
    last_day: date
    rows: int
    path: str
    carried_by: date | None = None


class CostKeys(list[str]):
    """Tag keys, sorted; and in `extensions` the names of the providers' own columns without their x_, sorted."""

    extensions: list[str]

    def __init__(self, tags: Iterable[str] = (), extensions: Iterable[str] = ()) -> None:
        super().__init__(tags)
        self.extensions = list(extensions)

    def copy(self) -> CostKeys:
        return CostKeys(self, self.extensions)

    @classmethod
    def of(cls, columns: Iterable[str]) -> CostKeys:
        """Return the keys among a segment's columns."""
        names = sorted(columns)
        return cls(
            sorted(schema.tag_key(name) for name in names if name.startswith(schema.TAG_PREFIX)),
            sorted(schema.extension_name(name) for name in names if name.startswith(schema.EXTENSION_PREFIX)),
        )


@dataclass(frozen=True, eq=False)
class Manifest:
    """The live cost segments of an account at one moment, by month and path. The same object while nothing changed."""

    account_id: int
    version: bytes | None
    segments: tuple[LiveSegment, ...]
    limit: CostLimit | None = None
    """The limit of a reader with limited cost access: days, rows and keys are those of lines within the limit, and segments
    without such lines are left out."""
    files: tuple[LiveSegment, ...] = ()
    """All segments, without the limit."""
    kept: tuple[str, ...] | None = None
    """For a recorded answer that is computed again: the other data that the answer read."""
    _keys: list[CostKeys] = field(default_factory=list)
    _stored: list[dict[str, _StoredFile] | None] = field(default_factory=list)
    """Files by path, once a query has read them; None where they have too many columns or some are gone."""
    _derived: dict[str, tuple[Hashable, Any]] = field(default_factory=dict)
    """The last result of `derive` by name, with its inputs."""

    def derive(self, name: str, inputs: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute` for this manifest, cached while `inputs` are the same. The cache is part of
        the manifest: a separate one would hold manifests, with their files, long after they were replaced."""
        kept_inputs, value = self._derived.get(name, (None, None))
        if kept_inputs != inputs:
            value = compute()
            self._derived[name] = inputs, value
        return cast(T, value)

    @cached_property
    def months(self) -> tuple[LiveSegment, ...]:
        """The months that sources imported, each once, also where it has several segments. Corrections count as lines of the month whose file contained them: they do not
        show which days of their own month are complete."""
        lines: dict[tuple[int, date], int] = defaultdict(int)
        for each in self.segments:
            if each.carried_by:
                lines[each.source_id, each.carried_by] += each.rows
        own = [each for each in self.segments if each.carried_by is None]
        months: dict[tuple[int, date], LiveSegment] = {}
        for each in own:
            before = months.get((each.source_id, each.month))
            months[each.source_id, each.month] = (
                replace(
                    before,
                    first_day=min(before.first_day, each.first_day),
                    last_day=max(before.last_day, each.last_day),
                    rows=before.rows + each.rows,
                )
                if before
                else replace(each, rows=each.rows + lines.pop((each.source_id, each.month), 0))
            )
        return tuple(months.values())

    @property
    def is_kept(self) -> bool:
        return self.kept is not None

    @property
    def all_segments(self) -> tuple[LiveSegment, ...]:
        """The segments without the reader's limit."""
        return self.segments if self.limit is None else self.files

    @cached_property
    def identity(self) -> str:
        """A hash of the files, without the limit and rollups: 128 bits in hex."""
        return hashlib.sha256(encode_segments(self.all_segments)).hexdigest()[:32]

    def paths(self, start: date, end: date) -> list[str]:
        """Return the files that a query over these days (inclusive) reads."""
        return [each.path for each in self.all_segments if each.first_day <= end and each.last_day >= start]

    def segments_of(self, paths: Collection[str]) -> list[LiveSegment]:
        return [each for each in self.all_segments if each.path in paths]

    def forget_files(self) -> None:
        """Drop the cached files, for the next query to read them again: a file was not at its recorded path."""
        self._stored.clear()


class RemovedSegments(UserError):
    """Files of a kept manifest have been removed since."""

    def __init__(self, segments: Iterable[LiveSegment]) -> None:
        self.segments = tuple(segments)
        super().__init__("Bills that this needs were removed.")


def encode_segments(segments: Iterable[LiveSegment]) -> bytes:
    return msgspec.json.encode(
        [(s.source_id, s.month, s.first_day, s.last_day, s.rows, s.path, s.carried_by) for s in segments]
    )


def decode_segments(data: bytes) -> tuple[LiveSegment, ...]:
    rows = msgspec.json.decode(data, type=list[tuple[int, date, date, date, int, str, date | None]])
    return tuple(LiveSegment(*row) for row in rows)


_kept: ContextVar[Manifest | None] = ContextVar("kept_manifest", default=None)


@contextmanager
def kept_manifest(manifest: Manifest) -> Iterator[None]:
    """Use this manifest for its account inside the block. A query whose files are gone raises RemovedSegments."""
    token = _kept.set(manifest)
    try:
        yield
    finally:
        _kept.reset(token)


_manifests: dict[int, Manifest] = {}


def cost_manifest(account: Account) -> Manifest:
    """Return the current manifest, within the reader's limit; inside `kept_manifest` the kept one. One statement, two after
    a change."""
    return manifest_of(account, _fetch_rows(_VERSION, account)[0][0])


def manifest_of(account: Account, digest: memoryview | bytes | None) -> Manifest:
    """Return the current manifest, where a statement has just returned COST_VERSION. One statement after a change, else
    none. Within a limit one more after a change, and a lake query over the new files."""
    version = _bytes(digest)
    manifest = _manifests.get(account.pk)
    fixed_manifest = _kept.get()
    if fixed_manifest is not None and fixed_manifest.account_id == account.pk:
        manifest = fixed_manifest
    elif manifest is None or manifest.version != version:
        manifest = _read(account)
    limit = current_limit()
    if limit is None:
        return manifest
    from finops.lake.engine.limited_manifest import limited_manifest

    return limited_manifest(account, manifest, limit)


def manifest_files(
    account: Account,
    manifest: Manifest,
    start: date,
    end: date,
    columns: Sequence[str],
    *,
    allow_rollups: bool = False,
) -> list[SegmentFile] | None:
    """Return the files of `manifest.paths`, with those of `columns` that each has and, where allowed, the smallest rollup
    that has all of them. One statement for the first query of a manifest, then none. Returns None where each query must
    read PostgreSQL: there are too many columns, or the manifest is so old that files of it are gone. Raises RemovedSegments
    where files of a kept manifest are gone."""
    if (stored := _stored_files(account, manifest)) is None:
        return None
    paths = manifest.paths(start, end)
    if manifest.is_kept and (missing := set(paths) - stored.keys()):
        raise RemovedSegments(manifest.segments_of(missing))
    return [stored[path].file(columns, allow_rollups=allow_rollups) for path in paths]


def kept_columns(account: Account, manifest: Manifest) -> set[str]:
    """The columns of the files of a kept manifest that still exist."""
    stored = _stored_files(account, manifest) or {}
    return {name for file in stored.values() for name in file.whole.columns}


def _stored_files(account: Account, manifest: Manifest) -> dict[str, _StoredFile] | None:
    if not manifest._stored:
        manifest._stored[:] = [_read_files(account, manifest)]
    return manifest._stored[0]


def _read_files(account: Account, manifest: Manifest) -> dict[str, _StoredFile] | None:
    paths = manifest.paths(date.min, date.max)
    rows = _fetch_rows(_FILES, account, paths=paths)
    names = {row[4]: frozenset(map(sys.intern, json.loads(row[5]))) for row in rows if row[5] is not None}
    is_whole = len(rows) == len(paths) and sum(map(len, names.values())) <= MOST_COLUMNS
    if not is_whole and not manifest.is_kept:
        return None
    return {row[0]: _stored_file(row, names[row[4]]) for row in rows}


def _stored_file(row: tuple[Any, ...], columns: frozenset[str]) -> _StoredFile:
    path, checksum, size, count, _, _, rollups = row
    return _StoredFile(
        SegmentFile(path, checksum, columns, None, size, count),
        tuple(
            (SegmentFile(path, checksum, columns, (of_rollup, digest), bytes_, rows), frozenset(without))
            for of_rollup, digest, bytes_, rows, without in json.loads(rollups or "[]")
        ),
    )


def cost_tag_keys(account: Account, manifest: Manifest | None = None) -> CostKeys:
    """Every tag key of a live cost segment, sorted. One statement, up to three after a change.

    `manifest` is one that the caller has just read, and saves the first statement.
    """
    current = manifest or cost_manifest(account)
    if current._keys:
        return current._keys[0].copy()
    if current.limit is not None:
        from finops.lake.engine.limited_manifest import limited_columns

        current._keys.append(CostKeys.of(limited_columns(account, current, current.limit)))
        return current._keys[0].copy()
    if current.is_kept:
        return CostKeys.of(kept_columns(account, current))
    version, columns = _fetch_rows(_COLUMNS, account)[0]
    keys = CostKeys.of(columns)
    if _bytes(version) == current.version:
        current._keys.append(keys.copy())
    return keys


def _read(account: Account) -> Manifest:
    rows = _fetch_rows(_SEGMENTS, account)
    version = _bytes(rows[0][0]) if rows else None
    manifest = Manifest(account.pk, version, tuple(LiveSegment(*row[1:]) for row in rows))
    if len(_manifests) >= ACCOUNTS:
        _manifests.clear()  # rare, and each costs one statement to read again
    _manifests[account.pk] = manifest
    return manifest


def _fetch_rows(statement: str, account: Account, **params: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"account": account.pk, **params})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _bytes(digest: memoryview | bytes | None) -> bytes | None:
    return None if digest is None else bytes(digest)

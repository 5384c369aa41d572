"""The manifest of a reader with limited cost access: days, rows and tag keys of only the lines within the limit, so
that everything derived from a manifest is as if the account had no other lines.

A file never changes, so its lines within a limit are computed once in each process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import pyarrow as pa

from accounts.models import Account
from finops.lake import queries, schema
from finops.lake.engine import engine
from finops.lake.engine.compiler import File
from finops.lake.engine.limited_files import FILE_NAME, limited_files_sql
from finops.lake.schema import Kind
from finops.lake.storage.manifest import (
    Manifest,
    SegmentFile,
    kept_columns,
    manifest_files,
)
from finops.lib.cost_access import CostLimit

MANIFESTS: Final = 128
"""Number of cached manifests; each holds a copy of its account's segments."""

FILES: Final = 20_000
"""Number of files whose limited figures are cached, 200 bytes each."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a file that is within a limit."""

    rows: int
    first_day: date | None = None
    last_day: date | None = None


_NOTHING: Final = _Part(0)
_manifests: OrderedDict[tuple[int, bytes | None, CostLimit], Manifest] = OrderedDict()
_parts: OrderedDict[tuple[str, CostLimit], _Part] = OrderedDict()
_lock: Final = threading.Lock()


def limited_manifest(account: Account, whole: Manifest, limit: CostLimit) -> Manifest:
    """The limited manifest; the same object while nothing changed. Runs one lake query over files that are new.
    Raises LakeUnavailable."""
    key = account.pk, whole.version, limit
    with _lock:
        cached = _manifests.get(key)
        if cached is not None:
            _manifests.move_to_end(key)
            return cached
    parts = _parts_of(account, whole, limit)
    segments = tuple(
        replace(each, first_day=part.first_day, last_day=part.last_day, rows=part.rows)
        for each in whole.segments
        if (part := parts.get(each.path, _NOTHING)).first_day is not None and part.last_day is not None
    )
    manifest = Manifest(
        account.pk,
        whole.version,
        segments,
        limit=limit,
        files=whole.segments,
        kept=whole.kept,
        _stored=whole._stored,
    )
    with _lock:
        manifest = _manifests.setdefault(key, manifest)
        while len(_manifests) > MANIFESTS:
            _manifests.popitem(last=False)
    return manifest


def limited_columns(account: Account, manifest: Manifest, limit: CostLimit) -> list[str]:
    """The key columns that have a value in a line within the limit. One lake query over all files with such a line."""
    if manifest.is_kept:
        columns = sorted(name for name in kept_columns(account, manifest) if schema.is_key_column(name))
    else:
        columns = sorted(queries.key_columns(account))
    paths = {each.path for each in manifest.segments}
    if not columns or not paths:
        return []
    table = _read(account, manifest, paths, limit, columns)
    return [name for at, name in enumerate(columns) if any(table[f"n{at}"].to_pylist())]


def _parts_of(account: Account, whole: Manifest, limit: CostLimit) -> dict[str, _Part]:
    paths = [each.path for each in whole.segments]
    with _lock:
        parts = {path: _parts[path, limit] for path in paths if (path, limit) in _parts}
    missing = set(paths) - set(parts)
    if not missing:
        return parts
    rows = _read(account, whole, missing, limit).to_pylist()
    parts_by_path = {row["path"]: _Part(row["rows"], row["first_day"], row["last_day"]) for row in rows}
    read = {path: parts_by_path.get(path, _NOTHING) for path in missing}
    with _lock:
        _parts.update({(path, limit): part for path, part in read.items()})
        while len(_parts) > FILES:
            _parts.popitem(last=False)
    return parts | read


def _read(
    account: Account, manifest: Manifest, paths: set[str], limit: CostLimit, columns: Sequence[str] = ()
) -> pa.Table:
    """The result of `limited_files_sql` for these segments, with `path` in place of the file's name."""
    _, needed = limited_files_sql([], limit, columns)
    if manifest.is_kept:
        every = manifest_files(account, manifest, date.min, date.max, needed) or []
    else:
        every = queries.segment_files(account, Kind.COST, date.min, date.max, needed)
    files = [each for each in every if each.path in paths]
    if not files:
        return pa.table({name: [] for name in ("path", *(f"n{at}" for at in range(len(columns))))})
    names: dict[str, SegmentFile] = {}

    def statement(local: Sequence[File]) -> str:
        names.update(zip((each.path for each in local), files, strict=True))
        return limited_files_sql(local, limit, columns)[0]

    with engine.read_batches(files, statement, account=account) as reader:
        table = reader.read_all()
    own = [names[name].path for name in table[FILE_NAME].to_pylist()]
    return table.append_column("path", pa.array(own, pa.string()))

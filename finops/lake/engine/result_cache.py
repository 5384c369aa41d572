"""A cache of recent DuckDB results by the exact question. Files never change, so results over them stay valid.

No entry can be stale: the files of a question come from the manifest, read for each question, and a replaced month
has files with other names. Entries that no question can match any more are evicted as the least recently used.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa

from finops.lake.engine.compiler import Query

MAX_ENTRY_SHARE: Final = 16
"""A result that takes a larger share of the cache is not stored: it would evict too many others."""

_TEXT_BYTES: Final = 64
"""Approximate bytes that a Python string takes besides its characters."""


@dataclass(frozen=True)
class ResultKey:
    """Everything that decides DuckDB's result. The files belong to one account, and their names are unique."""

    directory: Path
    query: str
    files: tuple[str, ...]
    start: date
    end: date
    currency: str = ""
    """The identity of the currency and its rates; empty: each line in its own currency."""

    @classmethod
    def of(
        cls, directory: Path, query: Query, files: Sequence[str], start: date, end: date, currency: str = ""
    ) -> ResultKey:
        return cls(directory, query.identity, tuple(files), start, end, currency)

    @property
    def bytes(self) -> int:
        return sum(len(text) + _TEXT_BYTES for text in (self.query, self.currency, *self.files))


class QueryResultCache:
    """Results with their questions, limited in bytes and shared by all threads. A limit of 0 stores nothing."""

    def __init__(self) -> None:
        self._entries: OrderedDict[ResultKey, tuple[pa.Table, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        return self._bytes

    def get(self, key: ResultKey) -> pa.Table | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: ResultKey, table: pa.Table, max_bytes: int) -> None:
        size = key.bytes + table.get_total_buffer_size()
        if size * MAX_ENTRY_SHARE > max_bytes:
            return
        table = _compact(table)
        with self._lock:
            self._bytes += size - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (table, size)
            while self._bytes > max_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self._bytes -= freed


def _compact(table: pa.Table) -> pa.Table:
    """A copy without spare capacity: buffers of DuckDB's results have room for many more rows. Takes 20 µs."""
    copied = pa.BufferOutputStream()
    with pa.ipc.new_stream(copied, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(copied.getvalue()).read_all()

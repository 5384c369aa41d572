"""Answers that DuckDB gave lately, by exactly what was asked: files never change, so neither does what was read of them.

Nothing here can be stale. The files of a question come from the manifest, anew for each question, and a month that was
swapped has files of other names; what nobody can ask for any more is dropped as the least recently used.
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
"""An answer that takes more than this part of the room is not kept: it would push out many."""

_TEXT_BYTES: Final = 64
"""What a text of Python takes besides its characters, about."""


@dataclass(frozen=True)
class ResultKey:
    """All that decides DuckDB's answer. The files are those of one account, under names that nothing else has."""

    directory: Path
    query: str
    files: tuple[str, ...]
    start: date
    end: date
    currency: str = ""
    """The identity of the currency and its rates; empty: each line in its own."""

    @classmethod
    def of(
        cls, directory: Path, query: Query, files: Sequence[str], start: date, end: date, currency: str = ""
    ) -> ResultKey:
        return cls(directory, query.identity, tuple(files), start, end, currency)

    @property
    def bytes(self) -> int:
        return sum(len(text) + _TEXT_BYTES for text in (self.query, self.currency, *self.files))


class QueryResultCache:
    """At most so many bytes of answers with their questions, for all threads. Room 0 keeps nothing."""

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
    """A copy in as much memory as it takes: buffers of DuckDB's answers have room for many more rows (20 µs)."""
    copied = pa.BufferOutputStream()
    with pa.ipc.new_stream(copied, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(copied.getvalue()).read_all()

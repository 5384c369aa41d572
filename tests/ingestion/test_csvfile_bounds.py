"""A file of usage whose record has no end is refused before it is held."""

from __future__ import annotations

import io
from typing import Any

import pytest

from finops.lib.errors import UserError
from ingestion import csvfile

HEADER = b"customer_id,metric,quantity,timestamp\n"


class Endless(io.RawIOBase):
    """A header, a line, and then cells with a line break in each, which all are one record."""

    def __init__(self) -> None:
        self.read_bytes = 0
        self.lines = iter([HEADER, b"acme,calls,1,2026-05-01T00:00:00Z\n"])

    def readline(self, size: int | None = -1, /) -> bytes:
        line = next(
            self.lines,
            b'a","' + b"x" * 60_000 + b"\n" if self.read_bytes > 200 else b'"' + b"x" * 200 + b"\n",
        )
        self.read_bytes += len(line)
        return line


def test_a_record_of_lines_without_end_is_refused_within_5_mb() -> None:
    file: Any = Endless()
    with pytest.raises(UserError, match="Line 3 is not valid CSV: longer than 1 MiB"):
        csvfile.check_lines(file)
    assert 2**21 < file.read_bytes < 5 * 2**20

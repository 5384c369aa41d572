"""FOCUS CSV files with several billing months: lists the months and extracts the lines of one."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from finops.connections.connector import SourceError
from finops.connections.transports.http import MAX_FILE_BYTES
from finops.costs.focus.columns import BILLING_PERIOD
from finops.costs.focus.values import parse_day
from finops.lib.periods import month_start

_DIGESTS: Final = 2**256


class CsvMonth(NamedTuple):
    """A billing month. `digest` is of the header and the lines, in any order."""

    rows: int
    digest: str


def csv_months(path: Path) -> dict[date, CsvMonth]:
    """Return the billing months of the file. Raises SourceError for a file that is not FOCUS."""
    rows: dict[date, int] = {}
    sums: dict[date, int] = {}
    with _open_rows(path) as (header, lines):
        for month, line in lines:
            rows[month] = rows.get(month, 0) + 1
            sums[month] = (sums.get(month, 0) + _digest(line)) % _DIGESTS
    return {
        month: CsvMonth(rows[month], f"{(sums[month] + _digest(header)) % _DIGESTS:064x}") for month in rows
    }


def write_csv_month(path: Path, month: date, target: Path) -> int:
    """Write the lines of one month with the header; returns their number. Raises SourceError for a file that is not FOCUS."""
    count = 0
    with _open_rows(path) as (header, lines), target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for its_month, line in lines:
            if its_month == month:
                writer.writerow(line)
                count += 1
    return count


@contextmanager
def _open_rows(path: Path) -> Iterator[tuple[list[str], Iterator[tuple[date, list[str]]]]]:
    """Yield the header, and each line with its billing month. The file may be compressed with gzip."""
    with path.open("rb") as start:
        is_gzip = start.read(2) == b"\x1f\x8b"
    open_bytes = gzip.open if is_gzip else open
    with (
        open_bytes(path, "rb") as content,
        io.TextIOWrapper(content, newline="", encoding="utf-8-sig") as file,
    ):
        try:
            reader = csv.reader(_check_size(file), strict=True)
            header = next(reader, [])
            if BILLING_PERIOD not in header:
                raise SourceError(f"The file has no column {BILLING_PERIOD}, so it is not a FOCUS file.")
            place = header.index(BILLING_PERIOD)
            yield header, ((_month(line, place, reader.line_num), line) for line in reader if line)
        except (csv.Error, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
            raise SourceError(f"The file is not valid CSV: {error}.") from error


def _check_size(lines: Iterable[str]) -> Iterator[str]:
    total = 0
    for line in lines:
        total += len(line)
        if total > MAX_FILE_BYTES:
            raise SourceError(f"The file exceeds the limit of {MAX_FILE_BYTES // 1024**2:,} MB.")
        yield line


def _month(line: list[str], place: int, number: int) -> date:
    try:
        return month_start(parse_day(line[place]).value)
    except (ValueError, IndexError) as error:
        raise SourceError(f"Line {number} of the file has no {BILLING_PERIOD} that is a date.") from error


def _digest(line: list[str]) -> int:
    return int.from_bytes(sha256("\x1f".join(line).encode()).digest())

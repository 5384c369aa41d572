"""Parts of a push as received: detection of their format, and conversion of JSON rows to Parquet for the importer.

No number is converted to floating point: the text of a JSON number is kept, and the importer reads it as an exact decimal.
"""

from __future__ import annotations

import enum
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from finops.costs.focus.errors import FocusFileError, display_value
from finops.costs.focus.sniff import HEAD, Format, sniff

CHECKED_BYTES: Final = 1 << 20
"""JSON of at most this many bytes is checked on arrival, in some milliseconds; larger JSON when it is imported."""

MAX_COLUMNS: Final = 2_000
_BATCH: Final = 10_000
_BEGINS_WITH_ROWS: Final = re.compile(rb'\s*\{[^{}\[\]]{0,1000}"rows"\s*:\s*\[')
_SHAPE: Final = 'Send {"rows": [{"BilledCost": 1.5, …}]}, or a row as a JSON object on each line.'


class PartFormat(enum.StrEnum):
    CSV = "csv"
    CSV_GZ = "csv.gz"
    PARQUET = "parquet"
    JSON = "json"
    NDJSON = "ndjson"

    @property
    def is_json(self) -> bool:
        return self in (PartFormat.JSON, PartFormat.NDJSON)


_OF_FILE: Final = {
    Format.CSV: PartFormat.CSV,
    Format.CSV_GZ: PartFormat.CSV_GZ,
    Format.PARQUET: PartFormat.PARQUET,
}

Columns = dict[str, msgspec.Raw]
_row_decoder: Final = msgspec.json.Decoder(Columns)


class _Rows(msgspec.Struct, forbid_unknown_fields=True):
    rows: list[msgspec.Raw]


def detect_format(path: Path, name: str) -> PartFormat:
    """Return the format of a part. Raises FocusFileError for an unknown format, and for invalid JSON of at most CHECKED_BYTES."""
    with path.open("rb") as file:
        head = _without_mark(file.read(HEAD))
    if head.lstrip()[:1] not in (b"{", b"["):
        file_format = sniff(path, name)[0]
        if file_format not in _OF_FILE:
            raise FocusFileError(
                f"{name} is JSON inside gzip. Send it with Content-Encoding: gzip, or as it is."
            )
        return _OF_FILE[file_format]
    format_ = PartFormat.JSON if _BEGINS_WITH_ROWS.match(head) else PartFormat.NDJSON
    if path.stat().st_size <= CHECKED_BYTES:
        _column_names(path, name, format_)
    return format_


def has_rows(path: Path, format_: PartFormat) -> bool:
    """Return whether the file has more than a header. Also True for a file that cannot be read, and one whose header
    is longer than HEAD: their import reports the details."""
    try:
        if format_ is PartFormat.PARQUET:
            return bool(pq.read_metadata(path).num_rows)
        if format_.is_json:
            return path.stat().st_size > CHECKED_BYTES or _column_names(path, "", format_) is not None
        with gzip.open(path) if format_ is PartFormat.CSV_GZ else path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, EOFError, zlib.error, pa.ArrowException):
        return True
    return len(head) == HEAD or sum(bool(line.strip()) for line in head.splitlines()) > 1


def convert_to_parquet(path: Path, target: Path, name: str, format_: PartFormat) -> bool:
    """Write the rows of a JSON part to `target`: texts unchanged, numbers as the text that was sent, nested values as
    JSON. Returns False, without a file, if there are no rows. Raises FocusFileError that names the row."""
    columns = _column_names(path, name, format_, is_checked=False)
    if columns is None:
        return False
    schema = pa.schema([(column, pa.string()) for column in columns])
    with pq.ParquetWriter(target, schema) as writer:
        remaining = enumerate(_rows(path, name, format_), 1)
        while rows := list(islice(remaining, _BATCH)):
            texts = zip(*(_texts(row, columns, name, number) for number, row in rows), strict=True)
            arrays = [pa.array(each, pa.string()) for each in texts]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return True


def _texts(row: Columns, columns: Sequence[str], name: str, number: int) -> list[str | None]:
    try:
        return [_text(row.get(column)) for column in columns]
    except (ValueError, RecursionError):
        _check_texts(row, name, number)  # raises an error that names the column
        raise


def _column_names(
    path: Path, name: str, format_: PartFormat, *, is_checked: bool = True
) -> Sequence[str] | None:
    """Return the columns of all rows, in order of appearance; None without a row. Checks every value, or with
    `is_checked=False` only the first of each column, for a caller that checks the others itself."""
    columns: dict[str, None] = {}
    count = 0
    for count, row in enumerate(_rows(path, name, format_), 1):
        checked_columns = () if is_checked else columns
        _check_texts(
            {column: raw for column, raw in row.items() if column not in checked_columns}, name, count
        )
        columns.update(dict.fromkeys(row))
        if len(columns) > MAX_COLUMNS:
            raise FocusFileError(f"{name} has more than {MAX_COLUMNS:,} columns in its first {count:,} rows.")
    if count and not columns:
        raise FocusFileError(f"{name} has rows without any column. {_SHAPE}")
    return tuple(columns) if count else None


def _check_texts(row: Columns, name: str, number: int) -> None:
    for column, raw in row.items():
        try:
            column.encode()
            _text(raw)
        except (ValueError, RecursionError) as error:  # DecodeError of msgspec, or of UTF-8
            raise FocusFileError(f"{name}, row {number}, column {display_value(column)}: {error}.") from error


def _rows(path: Path, name: str, format_: PartFormat) -> Iterator[Columns]:
    lines = _rows_of_document(path, name) if format_ is PartFormat.JSON else _lines(path)
    for number, line in enumerate(lines, 1):
        yield _decode(_row_decoder.decode, line, f"{name}, row {number}")


def _rows_of_document(path: Path, name: str) -> list[msgspec.Raw]:
    return _decode(msgspec.json.Decoder(_Rows).decode, _without_mark(path.read_bytes()), name).rows


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if text := (_without_mark(line) if number == 0 else line).strip():
                yield text


def _without_mark(content: bytes) -> bytes:
    return content.removeprefix(b"\xef\xbb\xbf")


T = TypeVar("T")


def _decode(decode: Callable[[bytes | msgspec.Raw], T], content: bytes | msgspec.Raw, place: str) -> T:
    try:
        return decode(content)
    except (ValueError, RecursionError) as error:
        raise FocusFileError(f"{place}: {error}. {_SHAPE}") from error


def _text(raw: msgspec.Raw | None) -> str | None:
    """Return the text of a JSON value. Raises ValueError for invalid text."""
    if raw is None:
        return None
    content = bytes(raw)
    if content == b"null":
        return None
    if content[:1] == b'"':
        text: str = msgspec.json.decode(content, type=str)
        return text
    if content[:1] in (b"{", b"["):
        return msgspec.json.format(content, indent=-1).decode()
    return content.decode()

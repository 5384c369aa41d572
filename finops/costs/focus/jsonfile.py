"""JSON as record batches in bounded memory: one object per line (newline-delimited JSON), or one array of objects.

Columns are the keys of all objects, found by a pass over the file, since writers such as BigQuery omit empty fields.
Values are texts as written, so that numbers lose nothing; objects and arrays stay JSON.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from finops.costs.focus.bounds import check_batch, check_column
from finops.costs.focus.csvtext import BLOCK_BYTES, PlainText, StreamedText
from finops.costs.focus.errors import FocusFileError, display_value
from finops.costs.focus.parquetfile import MAX_COLUMNS
from finops.costs.focus.sniff import UTF_8, Format, encoding_of

MAX_ARRAY: Final = 64 << 20
"""The maximum of bytes of a file that is one array, which is read at once."""

_BATCH: Final = 1 << 14
"""Rows of a batch."""
_BATCH_TEXT: Final = 64 << 20
_LINES: Final = "Write each row as a JSON object on a line of its own, as BigQuery exports them."
_AGAIN: Final = "Download or export it again."

Row = dict[str, msgspec.Raw]
_row_decoder: Final = msgspec.json.Decoder(Row)
_rows_decoder: Final = msgspec.json.Decoder(list[Row])
_text_decoder: Final = msgspec.json.Decoder(str)


class JsonFile:
    """A file of JSON objects whose columns are known."""

    def __init__(self, path: Path, name: str, format_: Format, head: bytes) -> None:
        self.path = path
        self.name = name
        self.format = format_
        self.size = path.stat().st_size
        self.delimiter = ""
        self.text_hash = ""
        """The hex digest of the decoded text of a gzip or UTF-16 file, after all of it was read; else ""."""
        self._encoding = encoding_of(head)
        text = head.decode(self._encoding, "ignore").lstrip("\ufeff \t\r\n")
        self._is_array = text.startswith("[")
        self._source: PlainText | None = None
        self.names = self._find_names()

    @property
    def bytes_done(self) -> int:
        return min(self.size, self._source.bytes_done) if self._source else 0

    def is_text(self, _place: int) -> bool:
        """Return whether a column has texts: any may, in addition to numbers."""
        return True

    def row(self, index: int) -> str:
        """Name the row `index` (from 0) for a report."""
        return f"row {index + 1}"

    def where(self, index: int) -> str:
        """Return the same, because a row is a line."""
        return self.row(index)

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """Yield batches of columns by position: texts dictionary-encoded, the others as plain strings.

        Raises FocusFileError if the file is truncated or a line is not an object.
        """
        places = dict.fromkeys([*texts, *plain])
        encoded = {*texts} - {*plain}
        done = 0
        rows = self._rows()
        while batch := self._next_rows(rows, done):
            values = {place: self._column(self.names[place], batch, done) for place in places}
            check_batch(sum(each.nbytes for each in values.values()), self.name, self._from(done))
            for place, each in values.items():
                check_column(each, self.names[place], self.name, self._from(done))
            yield {
                place: each.dictionary_encode() if place in encoded else each
                for place, each in values.items()
            }
            done += len(batch)

    def _from(self, done: int) -> Callable[[int], str]:
        return lambda index: self.row(done + index)

    def _find_names(self) -> list[str]:
        names: dict[str, None] = {}
        count = 0
        for count, row in enumerate(self._rows(), 1):
            names.update(dict.fromkeys(row))
            if len(names) > MAX_COLUMNS:
                raise FocusFileError(
                    f"{self.name} has more than {MAX_COLUMNS:,} columns in its first {count:,} rows."
                )
        if not count:
            raise FocusFileError(f"{self.name} has no rows. Export a period with cost.")
        return list(names)

    def _next_rows(self, rows: Iterator[Row], done: int) -> list[Row]:
        """Return the rows of a batch: fewer if they are long."""
        batch: list[Row] = []
        size = 0
        for row in islice(rows, _BATCH):
            batch.append(row)
            size += sum(map(len, row.values()))
            if size > _BATCH_TEXT:
                break
        return batch

    def _column(self, name: str, rows: Sequence[Row], done: int) -> pa.Array:
        try:
            return pa.array([_text(row.get(name)) for row in rows], pa.string())
        except ValueError:  # also UnicodeDecodeError and msgspec's
            for index, row in enumerate(rows):
                try:
                    _text(row.get(name))
                except ValueError as error:
                    raise FocusFileError(
                        f"{self.name}, {self.row(done + index)}, column {display_value(name)}: the text is not UTF-8. {_AGAIN}"
                    ) from error
            raise

    def _rows(self) -> Iterator[Row]:
        try:
            with self._open() as self._source:
                yield from self._array() if self._is_array else self._objects()
                self.text_hash = self._source.content_hash()
        except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
            raise FocusFileError(f"{self.name} is truncated or damaged. {_AGAIN}") from error

    def _open(self) -> PlainText:
        if not self.format.is_gzip and self._encoding == UTF_8:
            return PlainText(self.path)
        return StreamedText(self.path, self.format, self._encoding, self.name)

    def _objects(self) -> Iterator[Row]:
        for number, line in enumerate(self._lines(), 1):
            try:
                yield _row_decoder.decode(line)
            except (ValueError, RecursionError) as error:
                raise FocusFileError(
                    f"{self.name}, row {number} is not a JSON object: "
                    f"{display_value(line[:80].decode(errors='replace'))}. {_LINES}"
                ) from error

    def _array(self) -> Iterator[Row]:
        text = b"".join(self._blocks(MAX_ARRAY))
        try:
            yield from _rows_decoder.decode(text)
        except (ValueError, RecursionError) as error:
            raise FocusFileError(f"{self.name} is not a JSON array of objects. {_LINES}") from error

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines that are not blank."""
        tail = b""
        for block in self._blocks(None):
            *lines, tail = (tail + block).split(b"\n")
            yield from (line for line in lines if line.strip())
            if len(tail) > BLOCK_BYTES:
                raise FocusFileError(f"{self.name} has a row longer than {BLOCK_BYTES >> 20} MB. {_LINES}")
        if tail.strip():
            yield tail

    def _blocks(self, most: int | None) -> Iterator[bytes]:
        source: Any = self._source
        size = 0
        while block := source.read(BLOCK_BYTES):
            size += len(block)
            if most is not None and size > most:
                raise FocusFileError(f"{self.name} is one JSON array of more than {most >> 20} MB. {_LINES}")
            yield block.removeprefix(codecs.BOM_UTF8) if size == len(block) else block
            source.take_block()


def _text(value: msgspec.Raw | None) -> str | None:
    """Return a value as text. ValueError if it is not UTF-8."""
    if value is None:
        return None
    text = bytes(value)
    if text.startswith(b'"'):
        return _text_decoder.decode(text)
    return None if text == b"null" else text.decode()

"""CSV, plain, in gzip or in UTF-16, as record batches in bounded memory; re-read slowly to explain an error.

pyarrow parses (about 350,000 rows/s of 65 columns on two cores) and converts only the requested columns. Its errors
have few details, so after an error Python's csv module reads the file again up to that row.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import pyarrow as pa
import pyarrow.csv as pacsv

from finops.costs.focus.bounds import check_column
from finops.costs.focus.csvtext import BLOCK_BYTES, PlainText, StreamedText, text_of
from finops.costs.focus.errors import FocusFileError, display_value
from finops.costs.focus.parquetfile import MAX_COLUMNS, resize_batches
from finops.costs.focus.prefetch_iterator import prefetch
from finops.costs.focus.sniff import UTF_8, Format, encoding_of

_DELIMITERS: Final = (",", ";", "\t", "|")
_SEPARATOR_LINE: Final = re.compile(r'\s*"?sep=([,;\t|])"?[ ,;]*(?:\r\n|\r|\n)', re.IGNORECASE)
"""Excel's first line, which names the delimiter."""

_AGAIN: Final = "Download or export it again."
DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())


class CsvFile:
    """A CSV file whose header has been read."""

    def __init__(self, path: Path, name: str, format_: Format, head: bytes) -> None:
        self.path = path
        self.name = name
        self.format = format_
        self.size = path.stat().st_size
        self.text_hash = ""
        """The hex digest of the decoded text of a gzip or UTF-16 file, after all of it was read; else ""."""
        self._encoding = encoding_of(head)
        text = _decode(head, self._encoding, name, whole=self.size <= len(head))
        self.delimiter = _delimiter(text)
        self.names, self._header_lines = _header(text, self.delimiter, name)
        if len(self.names) > MAX_COLUMNS:
            raise FocusFileError(
                f"{name} has {len(self.names):,} columns; the maximum is {MAX_COLUMNS:,}. Remove "
                "columns you do not need."
            )
        self._source: PlainText | None = None

    @property
    def bytes_done(self) -> int:
        return min(self.size, self._source.bytes_done) if self._source else 0

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """Yield batches of columns by position: texts dictionary-encoded, the others as plain strings.

        Raises FocusFileError if the file is truncated, not in its encoding, or a row has too many or too few fields.
        """
        last = len(self.names) - 1
        end, done = "", 0
        try:
            with self._open() as self._source:
                for batch in self._read(self._source, {*texts, last} - {*plain}, plain):
                    self._check(batch, done)
                    yield batch
                    end = batch[last][-1].as_py() or ""
                    done += len(batch[last])
                tail, self.text_hash = self._source.tail(), self._source.content_hash()
        except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
            raise self._explain(error) from error
        if not self._ends_with(tail, end):
            self._refuse_open_quote()

    def _check(self, batch: Mapping[int, pa.Array], before: int) -> None:
        for place, values in batch.items():
            check_column(values, self.names[place], self.name, lambda index: self.where(before + index))

    def _read(
        self, source: PlainText, texts: set[int], plain: Sequence[int]
    ) -> Iterator[Mapping[int, pa.Array]]:
        if not source.has_more_than(self._header_lines):
            return
        labels = [str(place) for place in range(len(self.names))]
        types = dict.fromkeys(texts, DICTIONARY) | {place: pa.string() for place in plain}
        reader = pacsv.open_csv(
            source.stream(),
            pacsv.ReadOptions(column_names=labels, skip_rows=self._header_lines, block_size=BLOCK_BYTES),
            pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pacsv.ConvertOptions(
                column_types={labels[place]: type_ for place, type_ in types.items()},
                include_columns=[labels[place] for place in types],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        for batch in resize_batches(_count_batches(prefetch(iter(reader), on_stop=source.stop), source)):
            yield {place: batch.column(labels[place]) for place in types}

    def _ends_with(self, tail: bytes, value: str) -> bool:
        """Return whether the text ends with `value` as its last field. If not, a quote may be open at the end."""
        bare = tail.rstrip(b"\r\n")
        quoted = '"' + value.replace('"', '""') + '"'
        return any(bare.endswith((self.delimiter + form).encode()) for form in (value, quoted))

    def row(self, index: int) -> str:
        """Name the data row `index` (from 0) for a report, counting the header."""
        return f"row {index + 2}"

    def where(self, index: int) -> str:
        """Name the row with its line number in the file, if different. Reads the file up to there."""
        with suppress(csv.Error):  # a field of more than 128 KB, such as tags
            for row, (line, _) in enumerate(self._records()):
                if row == index + 1:
                    return f"row {row + 1}" if line == row + 1 else f"row {row + 1} (line {line})"
        return self.row(index)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield every row with its last line number, header first, without blank lines. Slow: for messages only."""
        lines = _LineLimiter(self._lines(), self.name)
        rows = csv.reader(lines, delimiter=self.delimiter, strict=False)
        for fields in rows:
            lines.pending_chars = 0
            if fields and rows.line_num >= self._header_lines:
                yield rows.line_num, fields

    def _lines(self) -> Iterator[str]:
        with text_of(self.path, self.format, self._encoding, self.name) as file:
            yield from _text_lines(file, self.name)

    def _open(self) -> PlainText:
        if self.format is Format.CSV and self._encoding == UTF_8:
            return PlainText(self.path)
        return StreamedText(self.path, self.format, self._encoding, self.name)

    def _explain(self, error: Exception) -> FocusFileError:
        """Find the error by reading the file again, slowly."""
        done = 0
        try:
            for row, (line, fields) in enumerate(self._records()):
                if len(fields) != len(self.names):
                    return self._wrong_width(row, line, fields)
                done = row
        except FocusFileError as cause:
            return cause
        except (EOFError, OSError, zlib.error):
            return FocusFileError(
                f"{self.name} is truncated after row {done + 1}: the gzip data is incomplete or "
                f"damaged. {_AGAIN}"
            )
        except csv.Error as cause:
            return FocusFileError(
                f"{self.name} is not valid CSV after row {done + 1}: {cause}. Check for an unclosed quote."
            )
        if "straddling" in str(error):
            return _too_long(self.name)
        return FocusFileError(f"{self.name} is not valid CSV: {display_value(error)}. {_AGAIN}")

    def _wrong_width(self, row: int, line: int, fields: list[str]) -> FocusFileError:
        begins = display_value(self.delimiter.join(fields))
        if len(fields) < len(self.names):
            hint = "The file may be truncated, or a value has a line break without quotes."
        else:
            hint = "Quote values that contain a comma."
        return FocusFileError(
            f"{self.name}, row {row + 1} (line {line}): {len(fields)} fields where the header names "
            f"{len(self.names)}. The row begins {begins}. {hint}"
        )

    def _refuse_open_quote(self) -> None:
        """Refuse an open quote at the end; an odd number of quotes may be a value like 5" in plain text."""
        lines = _LineLimiter(self._lines(), self.name)
        rows, row = csv.reader(lines, delimiter=self.delimiter, strict=True), 0
        try:
            for fields in rows:
                lines.pending_chars = 0
                row += bool(fields) and rows.line_num >= self._header_lines
        except csv.Error as error:
            if "unexpected end of data" not in str(error):
                return
            raise FocusFileError(f"{self.name} has an unclosed quote in row {row + 1}. {_AGAIN}") from error


class _LineLimiter:
    """Lines of text, counted until `pending_chars` is reset: a row may have many lines, which are all in memory."""

    def __init__(self, lines: Iterator[str], name: str) -> None:
        self.pending_chars = 0
        self._lines = lines
        self._name = name

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.pending_chars += len(line)
            if self.pending_chars > BLOCK_BYTES:
                raise _too_long(self._name)
            yield line


def _too_long(name: str) -> FocusFileError:
    return FocusFileError(
        f"{name} has a row longer than {BLOCK_BYTES >> 20} MB. Check for an unclosed quote."
    )


def _count_batches(batches: Iterator[pa.RecordBatch], source: PlainText) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        source.take_block()
        if batch.num_rows:
            yield batch


def _decode(head: bytes, encoding: str, name: str, *, whole: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head, whole)
    except UnicodeDecodeError as error:
        if encoding != UTF_8:
            raise FocusFileError(f"{name} is not valid UTF-16. Save it again as 'CSV UTF-8'.") from error
        line = head.count(b"\n", 0, error.start) + 1
        raise _not_utf8(name, line) from error


def _not_utf8(name: str, line: int) -> FocusFileError:
    return FocusFileError(f"{name}, line {line}: not UTF-8. Save the file again as 'CSV UTF-8'.")


def _delimiter(text: str) -> str:
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator_line = _SEPARATOR_LINE.match(text)
    if separator_line:
        return separator_line[1]
    counts = {mark: first.count(mark) for mark in _DELIMITERS}
    return max(_DELIMITERS, key=lambda mark: counts[mark])


def _header(text: str, delimiter: str, name: str) -> tuple[list[str], int]:
    """Return the column names, and the number of lines up to and including the header."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    separator_line = _SEPARATOR_LINE.match(text)
    before = len(separator_line[0].splitlines()) if separator_line else 0
    try:
        names = next(
            (fields for fields in rows if rows.line_num > before and any(field.strip() for field in fields)),
            [],
        )
    except csv.Error as error:
        raise FocusFileError(f"{name}: the header cannot be read as CSV ({error}).") from error
    if not names:
        raise FocusFileError(f"{name} has only blank lines.")
    return names, rows.line_num


def _text_lines(file: IO[bytes], name: str) -> Iterator[str]:
    for number, raw in enumerate(iter(lambda: file.readline(BLOCK_BYTES + 1), b""), start=1):
        if len(raw) > BLOCK_BYTES:
            raise _too_long(name)
        data = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise _not_utf8(name, number) from error
        # A file with old Mac line ends is one line here; csv needs separate lines.
        yield from io.StringIO(text, newline="")

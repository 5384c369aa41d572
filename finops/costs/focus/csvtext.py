"""The text of a CSV or JSON file for pyarrow, in UTF-8: as stored, decompressed from gzip, or decoded from UTF-16."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Self

import pyarrow as pa
import xxhash

from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.sniff import HEAD, UTF_16, Format

BLOCK_BYTES: Final = 8 << 20
"""The bytes of text read at once; no single row may be longer."""

BLOCKS_AHEAD: Final = 6
"""Blocks that pyarrow may read before the first is consumed. Its default is 32: 256 MB."""

FIRST_BLOCKS: Final = 2
"""The part of these until the first is consumed, so that reading the first rows does not unpack 48 MB. pyarrow needs
the second block to find the end of the first one's last row."""

_WAIT_SECONDS: Final = 2.0
"""The wait for a block to be consumed; then one more is read anyway, so that a memory limit never stops reading."""

TAIL: Final = 64 << 10
"""Bytes at the end that are checked; a longer last value only means reading the file again."""

FREE_TEXT: Final = 256 << 20
MAX_RATIO: Final = 200
MAX_TEXT: Final = 256 << 30
"""The maximum of unpacked bytes of a gzip file."""

ContentDigest: Final = xxhash.xxh3_128
"""A digest of file contents, hexadecimal. It need not be cryptographic, since nobody gains from two files with one
digest: SHA-256 took 8 % of the processor time of an import, this takes 2 %."""


class PlainText:
    """A file in UTF-8, which pyarrow reads directly, and the progress of reading it."""

    def __init__(self, path: Path) -> None:
        self.blocks_read = 0
        self._path = path
        self._raw = pa.OSFile(str(path), "rb")
        self._room = threading.Semaphore(FIRST_BLOCKS)
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()
        self._room.release(BLOCKS_AHEAD)

    @property
    def closed(self) -> bool:
        return bool(self._raw.closed)

    @property
    def bytes_done(self) -> int:
        """The bytes of the file whose rows were consumed; pyarrow itself reads some blocks ahead."""
        return self.blocks_read * BLOCK_BYTES

    def take_block(self) -> None:
        """Record that the rows of one more block were consumed."""
        is_first = not self.blocks_read
        self.blocks_read += 1
        self._room.release(1 + (BLOCKS_AHEAD - FIRST_BLOCKS if is_first else 0))

    def stop(self) -> None:
        """End the text now for its reader, because no more rows are needed. Without this, reading the first rows took
        the two seconds that a reader waits for room."""
        self._stopped = True
        self._room.release(BLOCKS_AHEAD)

    def has_more_than(self, lines: int) -> bool:
        """Return whether there is text after the first `lines` lines; pyarrow refuses a file without any."""
        first = self._first()
        pieces = first.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", lines)
        return len(first) >= HEAD or bool(len(pieces) > lines and pieces[lines].strip())

    def stream(self) -> Any:
        """Return the stream that pyarrow reads, in its own thread."""
        return pa.PythonFile(self, mode="r")

    def read_buffer(self, size: int) -> pa.Buffer:
        """Return the next block, once there is room. In Arrow's memory: Python would keep a copy."""
        self._room.acquire(timeout=_WAIT_SECONDS)
        return pa.py_buffer(b"") if self._stopped else self._next(size)

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._next(size).to_pybytes()
        return data

    def _next(self, size: int) -> pa.Buffer:
        return self._raw.read_buffer(size if size > 0 else BLOCK_BYTES)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: the context manager closes."""

    def tail(self) -> bytes:
        """Return the last bytes of the text, after all of it was read."""
        with self._path.open("rb") as file:
            file.seek(-min(TAIL, self._path.stat().st_size), os.SEEK_END)
            return file.read()

    def content_hash(self) -> str:
        """Return the hex digest of the whole content; "" if it was not read through this object."""
        return ""

    def _first(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(HEAD)


class StreamedText(PlainText):
    """A file in gzip or in UTF-16, read through Python: its text is hashed and its end checked on the way."""

    def __init__(self, path: Path, format_: Format, encoding: str, name: str) -> None:
        super().__init__(path)
        self._kind = format_, encoding, name
        unpacked = pa.CompressedInputStream(self._raw, "gzip") if format_.is_gzip else self._raw
        self._text = _decode(unpacked, encoding, name)
        self._digest = ContentDigest()
        self._tail = b""
        self._ended = False
        self._ends: list[int] = [0]
        self._size = 0

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._text = None  # frees the buffers, which every file of an import would keep

    @property
    def bytes_done(self) -> int:
        return self._ends[min(self.blocks_read, len(self._ends) - 1)]

    def _next(self, size: int) -> pa.Buffer:
        read = getattr(self._text, "read_buffer", None)
        count = size if size > 0 else BLOCK_BYTES
        data = read(count) if read else pa.py_buffer(self._text.read(count))
        self._ended = not data.size
        self._size += data.size
        check_unpacked_size(self._size, int(self._raw.tell()), self._kind[2])
        self._ends.append(int(self._raw.tell()))
        self._tail = (self._tail + data.slice(max(0, data.size - TAIL)).to_pybytes())[-TAIL:]
        self._digest.update(data)
        return data

    def tail(self) -> bytes:
        return self._tail

    def content_hash(self) -> str:
        return self._digest.hexdigest() if self._ended else ""

    def _first(self) -> bytes:
        with text_of(self._path, *self._kind) as file:
            return file.read(HEAD)


def check_unpacked_size(text: int, packed: int, name: str) -> None:
    """Raises FocusFileError for a file that unpacks to far more than bills: these to 10 or 20 times their size, a
    file of one repeated line to 1,000 times."""
    if text > MAX_TEXT or (text > FREE_TEXT and text > MAX_RATIO * packed):
        raise FocusFileError(
            f"{name} unpacks to more than {text >> 20:,} MB, {text // max(packed, 1):,} times its size. A file may unpack to "
            f"{MAX_RATIO} times its size (from {FREE_TEXT >> 20} MB on) and to {MAX_TEXT >> 30} GB. Split it, or import it "
            "uncompressed."
        )


@contextmanager
def text_of(path: Path, format_: Format, encoding: str, name: str) -> Iterator[IO[bytes]]:
    """Return the text of a UTF-8 file, to be read by lines or by size."""
    with path.open("rb") as raw:
        yield _decode(gzip.GzipFile(fileobj=raw) if format_.is_gzip else raw, encoding, name)


def _decode(file: Any, encoding: str, name: str) -> Any:
    return io.BufferedReader(_Utf16Text(file, name), HEAD) if encoding == UTF_16 else file


class _Utf16Text(io.RawIOBase):
    """Text in UTF-16 with a byte order mark, as bytes in UTF-8."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._name = name
        self._decoder = codecs.getincrementaldecoder(UTF_16)()
        self._lines = 0
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            data = self._file.read(HEAD)
            self._rest = self._in_utf8(data)
            if not data:
                break
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def _in_utf8(self, data: bytes) -> bytes:
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise FocusFileError(
                f"{self._name} is truncated or not UTF-16 after line {self._lines + 1}. Save it again "
                "as 'CSV UTF-8'."
            ) from error
        self._lines += text.count("\n")
        return text.encode()

"""ZIP archives of cost files, as Alibaba Cloud writes them: unpacked next to the import, within limits.

Names in an archive are untrusted: files on disk get generated names. The sizes that an archive declares are checked
against the bytes read.
"""

from __future__ import annotations

import errno
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Final

from finops.costs.focus.csvtext import check_unpacked_size
from finops.costs.focus.errors import FocusFileError, printable
from finops.costs.focus.open_files import FocusFile
from finops.lib.disk import check_disk

MAGIC: Final = b"PK\x03\x04"
MAX_ENTRIES: Final = 1_000
MAX_DIRECTORY: Final = 4 << 20
"""The maximum of bytes of an archive's directory, which is read at once."""
_CHUNK: Final = 1 << 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1
_END, _END_64, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_LOCAL_SIZE: Final = 30
_BEGINNING: Final = 1 << 16
_END_SIZE, _END_64_SIZE, _LOCATOR_SIZE = 22, 56, 20
_MAX_COMMENT: Final = 0xFFFF
_DAMAGES: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError)
"""What zipfile raises for a damaged archive: RuntimeError for a password or an unsupported compression, ValueError
for a name that is not UTF-8. An offset before the start of the file is an OSError with EINVAL."""
_BROKEN: Final = "is not a complete ZIP archive. Download or export it again."


def unpack(file: FocusFile, folder: Path, *, only_first: bool = False) -> list[FocusFile]:
    """Unpack a ZIP archive into `folder`, which is created, and return its files by name, or only the first; any
    other file is returned as is.

    Raises FocusFileError for an archive that is broken, encrypted, empty, or beyond the limits; LowDisk without
    space. An Excel workbook is not unpacked: its reader reports it.
    """
    with file.path.open("rb") as raw:
        if raw.read(4) != MAGIC:
            return [file]
        _check_directory(raw, file.name)
        try:
            with zipfile.ZipFile(raw) as archive:
                if "[Content_Types].xml" in archive.namelist():
                    return [file]
                entries = _entries(archive, file.name)[: 1 if only_first else None]
                folder.mkdir(exist_ok=True)
                check_disk(sum(entry.file_size for entry in entries))
                packed = file.path.stat().st_size
                return _Unpacking(archive, file.name, folder, packed).run(entries)
        except (*_DAMAGES, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise
            raise FocusFileError(f"{file.name} {_BROKEN}") from error


def beginning(head: bytes, name: str) -> bytes:
    """Return up to 64 KB of the first file of an archive. Raises FocusFileError for a broken or encrypted one."""
    try:
        flags, method = struct.unpack_from("<HH", head, 6)
        data = head[_LOCAL_SIZE + sum(struct.unpack_from("<HH", head, _LOCAL_SIZE - 4)) :]
        if flags & _ENCRYPTED:
            raise FocusFileError(f"{name} is encrypted. Export it without a password.")
        if method == zipfile.ZIP_STORED:
            return data[:_BEGINNING]
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, _BEGINNING)
    except (struct.error, zlib.error) as error:
        raise FocusFileError(f"{name} {_BROKEN}") from error


def _check_directory(raw: IO[bytes], name: str) -> None:
    """Check the directory before zipfile reads it. Raises FocusFileError above the limits."""
    size = raw.seek(0, 2)
    start = max(0, size - _END_SIZE - _MAX_COMMENT - _LOCATOR_SIZE)
    raw.seek(start)
    tail = raw.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_SIZE:
        raise FocusFileError(f"{name} {_BROKEN}")
    count, directory = struct.unpack_from("<HL", tail, place + 10)
    locator = place - _LOCATOR_SIZE
    if locator >= 0 and tail[locator : locator + 4] == _LOCATOR_64:
        (offset,) = struct.unpack_from("<Q", tail, locator + 8)
        raw.seek(min(offset, size))
        record = raw.read(_END_64_SIZE)
        if len(record) < _END_64_SIZE or record[:4] != _END_64:
            raise FocusFileError(f"{name} {_BROKEN}")
        count, directory = struct.unpack_from("<QQ", record, 32)
    if count > MAX_ENTRIES or directory > MAX_DIRECTORY:
        raise FocusFileError(
            f"{name} has {count:,} entries; at most {MAX_ENTRIES:,} are read. Split the archive."
        )
    raw.seek(0)


def _entries(archive: zipfile.ZipFile, name: str) -> list[zipfile.ZipInfo]:
    """Yield files with content, without hidden ones and those that macOS adds."""
    entries = [each for each in archive.infolist() if each.file_size and not _is_hidden(each)]
    if not entries:
        raise FocusFileError(f"{name} is a ZIP archive without a file. Export it again.")
    if any(each.flag_bits & _ENCRYPTED for each in entries):
        raise FocusFileError(f"{name} is encrypted. Unpack it, and upload the files inside.")
    if any(each.compress_type not in _METHODS for each in entries):
        raise FocusFileError(
            f"{name} is not compressed with Deflate. Unpack it, and upload the files inside."
        )
    if len(entries) > MAX_ENTRIES:
        raise FocusFileError(f"{name} has more than {MAX_ENTRIES:,} entries. Split the archive.")
    return sorted(entries, key=lambda each: each.filename)


def _is_hidden(entry: zipfile.ZipInfo) -> bool:
    parts = entry.filename.split("/")
    return entry.is_dir() or parts[-1].startswith(".") or parts[0] == "__MACOSX"


class _Unpacking:
    """Unpacks entries of one archive into a folder; their total size is limited relative to `packed`, its bytes."""

    def __init__(self, archive: zipfile.ZipFile, name: str, folder: Path, packed: int) -> None:
        self._archive, self._name, self._folder, self._packed = archive, name, folder, packed
        self._size = 0

    def run(self, entries: list[zipfile.ZipInfo]) -> list[FocusFile]:
        return [self._extract(entry, number) for number, entry in enumerate(entries, 1)]

    def _extract(self, entry: zipfile.ZipInfo, number: int) -> FocusFile:
        base = re.sub(r"[^\w.=-]", "_", entry.filename.rpartition("/")[2])[-100:]
        path = self._folder / f"{number:05d}-{base}"
        with self._archive.open(entry) as packed, path.open("xb") as file:
            while chunk := packed.read(_CHUNK):
                self._size += len(chunk)
                check_unpacked_size(self._size, self._packed, self._name)
                file.write(chunk)
        return FocusFile(path, printable(f"{self._name}/{entry.filename}"))

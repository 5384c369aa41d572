"""Content in a target, named by its SHA-256: content of an earlier backup is not stored again."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import BinaryIO, Final

from finops.backup.encryption import Encryption
from finops.backup.errors import DamagedObject
from finops.backup.records import StoredObject
from finops.backup.targets import BackupTarget

OBJECTS: Final = "objects"


class ObjectStore:
    """The objects of one target and one key. With `verify_all`, existing content is read before it is reused, and replaced
    where it is damaged: `damaged` are such paths."""

    def __init__(self, target: BackupTarget, encryption: Encryption, *, verify_all: bool = False) -> None:
        self.target, self.encryption = target, encryption
        self._verify_all = verify_all
        self.damaged: list[str] = []
        self._verified: set[str] = set()
        self.new_bytes = self.new_files = 0
        self._new: set[str] = set()
        self._stored: dict[str, tuple[str, int]] = {}

    def load_index(self) -> None:
        """Load the target's existing objects: one listing."""
        sizes = self.target.sizes(f"{OBJECTS}/{self.encryption.folder}")
        self._stored = {_digest_of(path): (path, size) for path, size in sizes.items()}

    def put(self, source: BinaryIO, size: int, sha256: str) -> StoredObject:
        """Store content of this digest and size. Raises DamagedObject where the source has other bytes."""
        if (earlier := self.find(sha256, size)) is not None:
            return earlier
        reader = _DigestReader(source)
        with self.target.new_file() as file:
            with file.open("wb") as into:
                self.encryption.encrypt(reader, into)
            if reader.digest.hexdigest() != sha256:
                raise DamagedObject(f"The content has SHA-256 {reader.digest.hexdigest()}, not {sha256}.")
            stored_sha256 = _file_sha256(file) if self.encryption.recipient else sha256
            stored_bytes = file.stat().st_size
            name = sha256 if not self.encryption.recipient else f"{sha256}.{stored_sha256}"
            path = f"{OBJECTS}/{self.encryption.folder}/{sha256[:2]}/{name}"
            self.target.put(file, path)
        self._delete_bad_copy(sha256, path)
        self._stored[sha256] = (path, stored_bytes)
        self._new.add(path)
        self._verified.add(path)
        self.new_bytes, self.new_files = self.new_bytes + stored_bytes, self.new_files + 1
        return StoredObject(sha256, size, path, stored_sha256, stored_bytes)

    def _delete_bad_copy(self, sha256: str, path: str) -> None:
        """Delete a damaged copy: content encrypted again has another path, and a later backup must not reuse the damaged
        one."""
        earlier, _ = self._stored.get(sha256, ("", 0))
        if earlier in self.damaged and earlier != path:
            self.target.delete(earlier)

    def put_bytes(self, content: bytes) -> StoredObject:
        return self.put(io.BytesIO(content), len(content), hashlib.sha256(content).hexdigest())

    def is_new(self, stored: StoredObject) -> bool:
        """Whether this run stored it."""
        return stored.path in self._new

    def find(self, sha256: str, size: int) -> StoredObject | None:
        """Return the target's existing object of this content."""
        path, stored_bytes = self._stored.get(sha256, ("", 0))
        if not path or (not self.encryption.recipient and stored_bytes != size):
            return None  # a damaged one is stored again, in its place
        stored_sha256 = path.rpartition("/")[2].rpartition(".")[2]
        stored = StoredObject(sha256, size, path, stored_sha256, stored_bytes)
        return stored if not self._verify_all or self._is_sound(stored) else None

    def _is_sound(self, stored: StoredObject) -> bool:
        if stored.path in self._verified:
            return True
        try:
            self.verify(stored)
        except DamagedObject:
            self.damaged.append(stored.path)
            return False
        self._verified.add(stored.path)
        return True

    def verify(self, stored: StoredObject) -> None:
        """Read the object back completely, decrypted where the key can. Raises DamagedObject when its bytes differ."""
        with self._open(stored) as source:
            if not self.encryption.recipient:
                self._decrypt(source, None, stored)
                return
            reader = _DigestReader(source)
            if self.encryption.can_read:
                self._decrypt(reader, None, stored)
            else:
                while reader.read(2**20):
                    pass
            _compare(reader.digest.hexdigest(), stored.stored_sha256, stored)

    def read_into(self, stored: StoredObject, file: Path) -> None:
        """Read the content into a file. Raises DamagedObject when it differs from what was stored, or is missing."""
        with file.open("wb") as into, self._open(stored) as source:
            self._decrypt(source, into, stored)

    def read(self, stored: StoredObject) -> bytes:
        """Return the content, for parts of tables. Raises DamagedObject as `read_into`."""
        content = io.BytesIO()
        with self._open(stored) as source:
            self._decrypt(source, content, stored)
        return content.getvalue()

    def _open(self, stored: StoredObject) -> BinaryIO:
        try:
            return self.target.open(stored.path)
        except FileNotFoundError as error:
            path = self._replacement(stored)
            if not path:
                raise DamagedObject(f"{stored.path} is missing in {self.target.name}.") from error
            return self.target.open(path)

    def _replacement(self, stored: StoredObject) -> str:
        """Return the path of the same content where a later backup replaced a damaged file; empty without one."""
        if not self._stored:
            self.load_index()
        path, _ = self._stored.get(stored.sha256, ("", 0))
        return "" if path == stored.path else path

    def _decrypt(self, source: BinaryIO | _DigestReader, into: BinaryIO | None, stored: StoredObject) -> None:
        writer = _DigestWriter(into)
        try:
            self.encryption.decrypt(source, writer)  # type: ignore[arg-type] # a reader is all it needs
        except DamagedObject as error:
            raise DamagedObject(f"{stored.path} is damaged, or of another key: {error.message}") from error
        _compare(writer.digest.hexdigest(), stored.sha256, stored)


class _DigestReader:
    def __init__(self, source: BinaryIO) -> None:
        self._source, self.digest = source, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._source.read(size)
        self.digest.update(chunk)
        return chunk


class _DigestWriter:
    def __init__(self, into: BinaryIO | None) -> None:
        self._into, self.digest = into, hashlib.sha256()

    def write(self, chunk: bytes) -> int:
        self.digest.update(chunk)
        if self._into is not None:
            self._into.write(chunk)
        return len(chunk)

    def flush(self) -> None:
        """Required by pyrage."""


def _compare(digest: str, expected: str, stored: StoredObject) -> None:
    if digest != expected:
        raise DamagedObject(f"{stored.path} is damaged: SHA-256 {digest}, expected {expected}.")


def _file_sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _digest_of(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]

"""backup.json: the content of a backup. It is written last, so a directory without one is no backup."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Final

import msgspec

from finops.backup.errors import BackupError, DamagedObject

FORMAT: Final = 1
"""Format version; increased when an older restore could not read the record."""


class StoredObject(msgspec.Struct, frozen=True):
    """Content by its SHA-256, and the file of the target that has it; that file's own digest differs when encrypted."""

    sha256: str
    bytes: int
    path: str
    stored_sha256: str
    stored_bytes: int


class TablePart(msgspec.Struct, frozen=True):
    """Rows in PostgreSQL's COPY text format, compressed with zstd."""

    object: StoredObject
    rows: int
    text_bytes: int


class TableRecord(msgspec.Struct, frozen=True):
    name: str
    columns: list[str]
    rows: int
    parts: list[TablePart]


class SequenceRecord(msgspec.Struct, frozen=True):
    table: str
    column: str
    last_value: int


class LakeFile(msgspec.Struct, frozen=True):
    """A live segment or rollup; without `object` the lake did not have it."""

    account_id: int
    kind: str
    path: str
    rows: int
    sha256: str
    object: StoredObject | None


class WaitingUpload(msgspec.Struct, frozen=True):
    """A file below VAR_DIR that a pending import, push or upload needs."""

    path: str
    object: StoredObject


class KeyFingerprints(msgspec.Struct, frozen=True):
    salt: str
    secret_key: str
    key_pepper: str


class BackupRecord(msgspec.Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    id: str
    taken_at: datetime
    postgresql: str
    migrations: dict[str, list[str]]
    keys: KeyFingerprints
    recipient: str
    var_dir: str
    tables: list[TableRecord]
    sequences: list[SequenceRecord]
    lake: list[LakeFile]
    uploads: list[WaitingUpload]

    @property
    def missing(self) -> list[LakeFile]:
        return [file for file in self.lake if file.object is None]

    @property
    def objects(self) -> dict[str, StoredObject]:
        """Every object, by path in the target."""
        parts = [part.object for table in self.tables for part in table.parts]
        lake = [file.object for file in self.lake if file.object is not None]
        return {each.path: each for each in (*parts, *lake, *(upload.object for upload in self.uploads))}


class _Envelope(msgspec.Struct):
    sha256: str
    backup: msgspec.Raw


def encode(record: BackupRecord) -> bytes:
    """Return the text of backup.json, with the digest of its content."""
    body = msgspec.json.encode(record)
    return msgspec.json.encode(_Envelope(hashlib.sha256(body).hexdigest(), msgspec.Raw(body)))


def decode(text: bytes) -> BackupRecord:
    """Parse backup.json. Raises DamagedObject for a file that was changed, BackupError for the format of a newer version."""
    try:
        sealed = msgspec.json.decode(text, type=_Envelope)
        if hashlib.sha256(sealed.backup).hexdigest() != sealed.sha256:
            raise DamagedObject("backup.json is damaged: its digest differs.")
        number = msgspec.json.decode(sealed.backup, type=dict[str, msgspec.Raw]).get("format")
        if number is None or msgspec.json.decode(number) != FORMAT:
            raise BackupError(
                "backup.json has the format of another version. Restore with the version that wrote it."
            )
        return msgspec.json.decode(sealed.backup, type=BackupRecord)
    except msgspec.DecodeError as error:
        raise DamagedObject(f"backup.json is damaged: {error}.") from error

"""Encryption of backups in the age format (age-encryption.org/v1): X25519, and ChaCha20-Poly1305 in chunks of 64 KiB, so
that files of any size are streamed and a chunk that is changed, moved or left out is detected.

A recipient ("age1…") can write backups and read none; the identity ("AGE-SECRET-KEY-1…") reads them.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from finops.backup.errors import BackupError, DamagedObject
from finops.lib.extras import MissingExtra, require_extra

PLAIN: Final = "plain"
_IDENTITY, _RECIPIENT = "AGE-SECRET-KEY-1", "age1"


@dataclass(frozen=True)
class Encryption:
    """The keys of backups. `recipient` is empty where nothing is encrypted; `identity` is None where backups can only be
    written."""

    recipient: str = ""
    identity: Any = None

    @property
    def folder(self) -> str:
        """The folder of objects that are encrypted to this recipient."""
        return hashlib.sha256(self.recipient.encode()).hexdigest()[:16] if self.recipient else PLAIN

    @property
    def can_read(self) -> bool:
        return not self.recipient or self.identity is not None

    def encrypt(self, source: Any, into: BinaryIO) -> None:
        """Encrypt from a reader into a file."""
        if not self.recipient:
            shutil.copyfileobj(source, into, 2**20)
            return
        import pyrage

        pyrage.encrypt_io(source, into, [pyrage.x25519.Recipient.from_str(self.recipient)])

    def decrypt(self, source: BinaryIO, into: Any) -> None:
        """Decrypt from a file into a writer. Raises DamagedObject for another key, or bytes that were changed."""
        if not self.recipient:
            shutil.copyfileobj(source, into, 2**20)
            return
        import pyrage

        try:
            pyrage.decrypt_io(source, into, [self.identity])
        except (pyrage.DecryptError, OSError) as error:
            raise DamagedObject(f"Decryption failed: {error}.") from error


def encryption_of(key: str) -> Encryption:
    """Parse the text of a key, or of a file of age-keygen; no encryption for an empty text. Raises BackupError for any
    other text."""
    lines = [line.strip() for line in key.splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        return Encryption()
    _require_age()
    import pyrage

    try:
        if len(keys) == 1 and keys[0].startswith(_IDENTITY):
            identity = pyrage.x25519.Identity.from_str(keys[0])
            return Encryption(str(identity.to_public()), identity)
        if len(keys) == 1 and keys[0].startswith(_RECIPIENT):
            return Encryption(str(pyrage.x25519.Recipient.from_str(keys[0])))
    except (pyrage.IdentityError, pyrage.RecipientError) as error:
        raise BackupError(f"The backup key is damaged: {error}. Copy it again.") from error
    raise BackupError(
        f"The backup key must be one line that begins with {_RECIPIENT} or {_IDENTITY}. "
        "`manage.py backup --new-key` prints one."
    )


def key_file(path: str) -> Encryption:
    """Read the key in a file. Raises BackupError for one that cannot be read."""
    try:
        return encryption_of(Path(path).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"Key file {path} cannot be read: {error}.") from error


def new_key() -> tuple[str, str]:
    """Return a new identity, and its recipient. Raises BackupError."""
    _require_age()
    import pyrage

    identity = pyrage.x25519.Identity.generate()
    return str(identity), str(identity.to_public())


def _require_age() -> None:
    """Raises BackupError. The package is an extra, imported only when there is a key."""
    try:
        require_extra("Encryption of backups")
    except MissingExtra as error:
        raise BackupError(error.message) from error

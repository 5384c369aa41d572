"""What backup and restore say when they cannot go on."""

from __future__ import annotations

from finops.lib.errors import UserError


class BackupError(UserError):
    """The backup or restore cannot go on; the message says why and what to do."""


class DamagedObject(BackupError):
    """A file of the backup is not what was written, or the key does not open it."""

"""Errors of backup and restore."""

from __future__ import annotations

from finops.lib.errors import UserError


class BackupError(UserError):
    """The backup or restore cannot go on; the message says why and what to do."""


class DamagedObject(BackupError):
    """A file of the backup differs from what was written, or the key does not decrypt it."""

"""Collects, hashes and compresses the static files when a source has changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def build_on_change() -> str:
    """Run collectstatic unless nothing changed since the last run; return a description of the result."""
    fingerprint, count = _fingerprint()
    stamp = Path(settings.STATIC_ROOT) / ".fingerprint"
    if stamp.exists() and stamp.read_text() == fingerprint:
        return f"{count} files, unchanged"
    call_command("collectstatic", verbosity=0, interactive=False, clear=True)
    stamp.write_text(fingerprint)
    return f"{count} files, hashed and compressed"


def _fingerprint() -> tuple[str, int]:
    """A digest of every source file's name, size and modification time; and how many there are."""
    rows = []
    for finder in get_finders():
        for name, storage in finder.list(None):
            info = Path(storage.path(name)).stat()
            rows.append(f"{name} {info.st_size} {info.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest(), len(rows)

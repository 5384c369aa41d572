"""Files that a command sends."""

from __future__ import annotations

import sys
from pathlib import Path

from finops_cli.errors import CommandError


def read_file(name: str) -> bytes:
    """Read a file, or standard input for `-`. Raises CommandError for a file that cannot be read."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error

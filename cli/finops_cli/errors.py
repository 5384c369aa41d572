"""The error that ends a command with a message instead of a traceback."""

from __future__ import annotations

FAILED = 1
ERROR = 2


class CommandError(Exception):
    """An error that ends the command. `status` is the exit status: FAILED for a negative result, ERROR without a
    result."""

    def __init__(self, message: str, status: int = ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.status = status

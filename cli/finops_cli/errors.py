"""What ends a command with a sentence instead of a trace."""

from __future__ import annotations

FAILED = 1
ERROR = 2


class CommandError(Exception):
    """`status` is the exit status: FAILED for an answer that is no, ERROR for none."""

    def __init__(self, message: str, status: int = ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.status = status

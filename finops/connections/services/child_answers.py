"""Result of a connector in a child process (`finops.lib.child_process`), as a file that the parent process reads."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Final, Self

import msgspec
from django.conf import settings

from finops.connections.connector import (
    AccessError,
    CheckFinding,
    MonthConflict,
    SourceError,
    SourceUnavailable,
)
from finops.lib.errors import UserError
from finops.lib.jobs import internal_error

logger = logging.getLogger(__name__)

BROKEN: Final = internal_error("sync of this month", "existing data is kept")
NO_SPACE: Final = "The disk of this server is full. Ask the operator to free space."
MAX_BYTES: Final = 64 * 2**20

_CONFLICT: Final = "MonthConflict"
_ERRORS: Final[dict[str, type[UserError]]] = {
    each.__name__: each for each in (UserError, SourceError, SourceUnavailable, AccessError)
}


def uploads() -> Path:
    # costs.remove_forgotten_uploads removes files after a day.
    folder = Path(settings.VAR_DIR) / "uploads"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


class ChildAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Files of a fetch, months (with fingerprint and bytes) of a listing, findings of a test, or the class name and
    text of an error."""

    files: list[tuple[str, str]] = []
    notes: list[str] = []
    months: list[tuple[date, str, int]] = []
    findings: list[CheckFinding] = []
    error: str = ""
    message: str = ""
    retry_after: float | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file. Raises SourceError for one that is too large."""
        if path.stat().st_size > MAX_BYTES:
            raise SourceError(f"The provider listed more than {MAX_BYTES >> 20} MB. Name a longer prefix.")
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def write(self, path: Path) -> None:
        path.write_bytes(msgspec.json.encode(self))

    def or_raise(self) -> Self:
        """Return the result. Raises the error that it holds: MonthConflict, UserError and its subclasses."""
        if self.error == _CONFLICT:
            raise MonthConflict(self.message)
        if self.error:
            error = _ERRORS[self.error](self.message)
            if isinstance(error, SourceError):
                error.retry_after = self.retry_after
            raise error
        return self


def answer_of(call: Callable[[], ChildAnswer], action: str) -> ChildAnswer:
    """Run the call in the child process and return its result or error. An unexpected error is logged as an error of the action."""
    try:
        return call()
    except MonthConflict as conflict:
        return ChildAnswer(error=_CONFLICT, message=str(conflict))
    except UserError as error:
        kind = next(each for each in type(error).__mro__ if each.__name__ in _ERRORS)
        return ChildAnswer(
            error=kind.__name__, message=error.message, retry_after=getattr(error, "retry_after", None)
        )
    except Exception as error:
        logger.exception("connections: a %s failed", action)
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        return ChildAnswer(error=SourceError.__name__, message=NO_SPACE if is_full else BROKEN)

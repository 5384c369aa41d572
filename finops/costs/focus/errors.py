"""Errors of files, with messages for the file's owner."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from finops.lib.errors import UserError

UNSUPPORTED_CAST: Final = pa.ArrowNotImplementedError
"""pyarrow raises this for types that it cannot cast; ArrowInvalid for a value that does not fit."""
CAST_ERRORS: Final = (pa.ArrowInvalid, UNSUPPORTED_CAST)
SHOWN = 80
"""The maximum of characters of a value in a message."""


class FocusFileError(UserError):
    """A file that cannot be imported. `message` names the file, the row, the column, the value and what to do."""


class UnknownFormat(FocusFileError):
    """The file's columns are neither FOCUS nor of a native format, nor those of the source's column mapping; or its
    values do not fit the mapping. A person may correct the mapping."""


class BadCell(Exception):
    """A value that does not fit its column; the reader of the file adds its place."""

    def __init__(self, column: str, index: int, value: Any, problem: str) -> None:
        super().__init__(problem)
        self.column = column
        self.index = index
        self.value = value
        self.problem = problem


def display_value(value: Any) -> str:
    """Format a value for a message: quoted, short, and without characters that a terminal or database refuses."""
    text = value if isinstance(value, str) else str(value)
    cut = text[:SHOWN] + "…" if len(text) > SHOWN else text
    return repr(cut)


def printable(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)

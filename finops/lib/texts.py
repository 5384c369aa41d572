"""Text that people and assistants send, before it is kept."""

from __future__ import annotations

import unicodedata

from finops.lib.errors import UserError

_REFUSED = {
    "Cc": "a control character",
    "Cs": "half a surrogate pair",
    "Zl": "a line break",
    "Zp": "a line break",
}


def line_of(text: str, *, field: str, longest: int) -> str:
    """The text without spaces around it. Raises UserError for NUL and other control characters, line breaks, lone
    surrogates, and more than `longest` characters."""
    line = text.strip()
    for char in line:
        if unicodedata.category(char) in _REFUSED:
            found = "NUL" if char == "\x00" else _REFUSED[unicodedata.category(char)]
            raise UserError(f"{field} has {found} in it (U+{ord(char):04X}). Remove it.", field=field)
    if len(line) > longest:
        raise UserError(
            f"{field} has at most {longest} characters; {len(line):,} were given.",
            field=field,
            value=line[:longest],
        )
    return line

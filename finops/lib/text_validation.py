"""Validation of text from people and assistants, before it is stored."""

from __future__ import annotations

import unicodedata

from finops.lib.errors import UserError

_FORBIDDEN_CATEGORIES = {
    "Cc": "a control character",
    "Cs": "a lone surrogate",
    "Zl": "a line break",
    "Zp": "a line break",
}


def single_line(text: str, *, field: str, longest: int) -> str:
    """Return the text without surrounding spaces. Raises UserError for NUL and other control characters, line breaks, lone
    surrogates, and more than `longest` characters."""
    line = text.strip()
    for char in line:
        if unicodedata.category(char) in _FORBIDDEN_CATEGORIES:
            problem = "NUL" if char == "\x00" else _FORBIDDEN_CATEGORIES[unicodedata.category(char)]
            raise UserError(f"{field} contains {problem} (U+{ord(char):04X}). Remove it.", field=field)
    if len(line) > longest:
        raise UserError(
            f"{field} has {len(line):,} characters; the maximum is {longest}.",
            field=field,
            value=line[:longest],
        )
    return line

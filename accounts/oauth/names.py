"""What a client calls itself: text of a stranger, shown beside its host."""

from __future__ import annotations

import unicodedata
from typing import Any

MAX_LENGTH = 80
# Letters, marks, numbers, punctuation, symbols, plain spaces; no control or formatting characters, which could
# turn the direction of the text around it.
_PRINTABLE = {"L", "M", "N", "P", "S"}


def display_name(raw_name: Any) -> str:
    if not isinstance(raw_name, str):
        return ""
    letters = (letter if unicodedata.category(letter)[0] in _PRINTABLE else " " for letter in raw_name[:1000])
    return " ".join("".join(letters).split())[:MAX_LENGTH].strip()

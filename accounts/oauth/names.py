"""What a client calls itself: text of a stranger, shown beside its host."""

from __future__ import annotations

import unicodedata
from typing import Any

MAX_LENGTH = 80
# Letters, marks, numbers, punctuation, symbols, plain spaces; no control or formatting characters, which could
# turn the direction of the text around it.
_SHOWN = {"L", "M", "N", "P", "S"}


def shown_name(said: Any) -> str:
    if not isinstance(said, str):
        return ""
    kept = (letter if unicodedata.category(letter)[0] in _SHOWN else " " for letter in said[:1000])
    return " ".join("".join(kept).split())[:MAX_LENGTH].strip()

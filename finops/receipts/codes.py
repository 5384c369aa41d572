"""The code of a receipt: a day, and a keyed hash of all data that the receipt proves."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from django.conf import settings

LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no code is a word."""
DAY_LETTERS, HASH_LETTERS = 3, 13
"""Letters of the day (8,000 days) and of the hash (56 bits)."""

_FIRST_DAY: Final = date(2025, 1, 1)
_LENGTH: Final = DAY_LETTERS + HASH_LETTERS


def code_of(day: date, content: bytes) -> str:
    """Return the code of `content` on that day."""
    return _code(day, content, _key(settings.SECRET_KEY))


def is_code_of(code: str, day: date, content: bytes) -> bool:
    """Return whether the code was computed from this content and day, with the current SECRET_KEY or an earlier one."""
    return any(hmac.compare_digest(code, _code(day, content, key)) for key in _keys())


def shown(code: str) -> str:
    """Return the code for display: `BCDF-GHJK-LMNP-QRST`."""
    return "-".join(code[start : start + 4] for start in range(0, _LENGTH, 4))


def parse(text: str) -> str | None:
    """Return the code that a person or assistant wrote, in any case, with or without hyphens; None for other text."""
    letters = re.sub(r"[\s-]", "", text).upper()
    return letters if len(letters) == _LENGTH and set(letters) <= set(LETTERS) else None


def day_of(code: str) -> date:
    number = 0
    for letter in code[:DAY_LETTERS]:
        number = number * len(LETTERS) + LETTERS.index(letter)
    return _FIRST_DAY + timedelta(days=number)


def _code(day: date, content: bytes, key: bytes) -> str:
    digest = hmac.digest(key, content, "sha256")
    return _letters((day - _FIRST_DAY).days, DAY_LETTERS) + _letters(int.from_bytes(digest[:8]), HASH_LETTERS)


def _letters(number: int, count: int) -> str:
    letters = []
    for _ in range(count):
        number, place = divmod(number, len(LETTERS))
        letters.append(LETTERS[place])
    return "".join(reversed(letters))


def _keys() -> Iterator[bytes]:
    yield from map(_key, (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    return hashlib.sha256(b"finops.receipts" + secret.encode()).digest()

"""Opaque cursors of lists: where to go on, and for which question."""

from __future__ import annotations

import base64
import binascii
import hashlib

import msgspec

from finops.lib.errors import UserError

_PADDING = "=" * 3


def next_cursor(offset: int, *question: object) -> str:
    """The cursor that goes on at offset with the same question (anything with a stable repr)."""
    return base64.urlsafe_b64encode(msgspec.json.encode([offset, _mark(question)])).decode().rstrip("=")


def offset_of(cursor: str, *question: object) -> int:
    """Where a cursor goes on; 0 for an empty one. Raises UserError when it belongs to another question."""
    if not cursor:
        return 0
    offset, mark = _read(cursor)
    if offset < 0 or mark != _mark(question):
        raise UserError(
            "cursor belongs to another question (everything else stays the same while paging), or is not one of "
            "ours. Leave it out to begin again.",
            field="cursor",
            value=cursor,
        )
    return offset


def _read(cursor: str) -> tuple[int, str]:
    try:
        text = base64.b64decode((cursor + _PADDING).encode("ascii"), altchars=b"-_")
        return msgspec.json.decode(text, type=tuple[int, str])
    except (binascii.Error, UnicodeEncodeError, msgspec.DecodeError):
        return -1, ""


def _mark(question: tuple[object, ...]) -> str:
    return hashlib.blake2s(repr(question).encode("utf-8", "replace"), digest_size=6).hexdigest()

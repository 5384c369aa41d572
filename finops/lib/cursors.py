"""Opaque cursors of lists: where to go on, and for which question."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TypeVar

import msgspec

from finops.lib.errors import UserError

_PADDING = "=" * 3

Value = TypeVar("Value")


def next_cursor(offset: int, *question: object) -> str:
    """The cursor that goes on at offset with the same question (anything with a stable repr)."""
    return _written([offset, _mark(question)])


def offset_of(cursor: str, *question: object) -> int:
    """Where a cursor goes on; 0 for an empty one. Raises UserError when it belongs to another question."""
    if not cursor:
        return 0
    offset, mark = _decoded(cursor, _COUNTED) or (-1, "")
    if offset < 0 or mark != _mark(question):
        raise foreign(cursor)
    return offset


def key_cursor(key: tuple[str, ...], *question: object) -> str:
    """The cursor that goes on after the row with this key: for lists that grow while they are read."""
    return _written([list(key), _mark(question)])


def key_of(cursor: str, *question: object) -> tuple[str, ...]:
    """The key of the last row that was read, () for an empty cursor. Raises UserError as `offset_of` does.

    The key is what its reader sends: check its parts.
    """
    if not cursor:
        return ()
    key, mark = _decoded(cursor, _KEYED) or ([], "")
    if not key or mark != _mark(question):
        raise foreign(cursor)
    return tuple(key)


def foreign(cursor: str) -> UserError:
    return UserError(
        "cursor belongs to another question (everything else stays the same while paging), or is not one of "
        "ours. Leave it out to begin again.",
        field="cursor",
        value=cursor,
    )


_KEYED = msgspec.json.Decoder(tuple[list[str], str])
_COUNTED = msgspec.json.Decoder(tuple[int, str])


def _written(value: list[object]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


def _decoded(cursor: str, decoder: msgspec.json.Decoder[Value]) -> Value | None:
    try:
        return decoder.decode(base64.b64decode((cursor + _PADDING).encode("ascii"), altchars=b"-_"))
    except (binascii.Error, UnicodeEncodeError, msgspec.DecodeError):
        return None


def _mark(question: tuple[object, ...]) -> str:
    return hashlib.blake2s(repr(question).encode("utf-8", "replace"), digest_size=6).hexdigest()

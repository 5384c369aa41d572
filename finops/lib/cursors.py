"""Opaque cursors of lists: the position to continue from, bound to its query."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TypeVar

import msgspec

from finops.lib.errors import UserError

_PADDING = "=" * 3

Value = TypeVar("Value")


def next_cursor(offset: int, *query: object) -> str:
    """Return the cursor that continues the same query (anything with a stable repr) at the offset."""
    return _encode([offset, _query_digest(query)])


def offset_of(cursor: str, *query: object) -> int:
    """Return the offset of a cursor; 0 for an empty one. Raises UserError when the cursor belongs to another query."""
    if not cursor:
        return 0
    offset, mark = _decode(cursor, _OFFSET_DECODER) or (-1, "")
    if offset < 0 or mark != _query_digest(query):
        raise foreign_cursor_error(cursor)
    return offset


def key_cursor(key: tuple[str, ...], *query: object) -> str:
    """Return the cursor that continues after the row with this key: for lists that grow while they are read."""
    return _encode([list(key), _query_digest(query)])


def key_of(cursor: str, *query: object) -> tuple[str, ...]:
    """Return the key of the last row that was read, () for an empty cursor. Raises UserError as `offset_of` does.

    The client sends the key back: check its parts.
    """
    if not cursor:
        return ()
    key, mark = _decode(cursor, _KEY_DECODER) or ([], "")
    if not key or mark != _query_digest(query):
        raise foreign_cursor_error(cursor)
    return tuple(key)


def foreign_cursor_error(cursor: str) -> UserError:
    return UserError(
        "cursor does not belong to these arguments. Remove it to start again.",
        field="cursor",
        value=cursor,
    )


_KEY_DECODER = msgspec.json.Decoder(tuple[list[str], str])
_OFFSET_DECODER = msgspec.json.Decoder(tuple[int, str])


def _encode(value: list[object]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


def _decode(cursor: str, decoder: msgspec.json.Decoder[Value]) -> Value | None:
    try:
        return decoder.decode(base64.b64decode((cursor + _PADDING).encode("ascii"), altchars=b"-_"))
    except (binascii.Error, UnicodeEncodeError, msgspec.DecodeError):
        return None


def _query_digest(query: tuple[object, ...]) -> str:
    return hashlib.blake2s(repr(query).encode("utf-8", "replace"), digest_size=6).hexdigest()

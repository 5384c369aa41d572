"""The body of a request that a backend sends: limited before and after decompression, read in parts, with errors in the
product's format."""

from __future__ import annotations

import dataclasses
import io
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Final

import pyarrow as pa
from django.http import HttpRequest
from rest_framework.exceptions import APIException

from finops.lib import request_body

_PART: Final = 1024**2
_GZIP: Final = 31
_ZLIB, _RAW_DEFLATE = 15, -15
"""zlib's settings for one format each."""
_MEMBERS: Final = 1000
"""The most gzip members. Each costs 30 µs, even an empty one: 16 MB of empty ones would cost 20 s."""

RATIO_FROM: Final = 256 * 1024
"""From this many decompressed bytes on, a body may be at most `BodyLimit.ratio` times the bytes sent."""


class PushError(APIException):
    """A request that is refused as a whole. `code` is for programs, the message for people."""

    def __init__(
        self, status: HTTPStatus, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message, code)
        self.status_code = status
        self.headers = headers or {}


@dataclasses.dataclass(frozen=True)
class BodyLimit:
    """The size limits of a body, before and after decompression, and what to send instead of a larger one."""

    max_bytes: int
    advice: str
    ratio: int = 100
    """Decompressed bytes for each byte sent. gzip reaches 1,032 with one byte repeated; rows that differ reach 10 to 40."""
    ratio_advice: str = "send it without Content-Encoding"


def read_body(request: HttpRequest, limit: BodyLimit) -> bytes:
    """Return the body, decompressed by its Content-Encoding. Raises PushError as `body_chunks`. Never holds more than the limit and a
    part."""
    return b"".join(body_chunks(request, limit))


def body_chunks(request: HttpRequest, limit: BodyLimit) -> Iterator[bytes]:
    """Yield the body in parts of at most a MiB, decompressed if it is gzip, deflate or zstd. Raises PushError: 413 over the
    limit, 415 for another encoding, 400 for an invalid or incomplete body."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower() or "identity"
    if encoding != "identity" and encoding not in _DECODERS:
        raise PushError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_encoding",
            "Content-Encoding must be gzip, deflate or zstd, or left out.",
            {"Accept-Encoding": ACCEPTED},
        )
    try:
        parts = request_body.parts(request, limit.max_bytes)
        yield from parts if encoding == "identity" else _decompress(parts, encoding, limit)
    except request_body.BodyTooLarge as error:
        too_inflated = isinstance(error, _InflationLimitError)
        raise (_inflation_error(limit) if too_inflated else _too_large_error(limit)) from error
    except request_body.IncompleteBody as error:
        raise PushError(HTTPStatus.BAD_REQUEST, "broken_off", "The body is incomplete.") from error


def _decompress(parts: Iterator[bytes], encoding: str, limit: BodyLimit) -> Iterator[bytes]:
    sent = _SentBody(parts)
    inflated_bytes = 0
    try:
        for content in _DECODERS[encoding](sent):
            inflated_bytes += len(content)
            if inflated_bytes > max(RATIO_FROM, limit.ratio * sent.bytes):
                raise _InflationLimitError
            if inflated_bytes > limit.max_bytes:
                raise request_body.BodyTooLarge
            yield content
    except _InvalidContentError as error:
        message = f"Content-Encoding is {encoding}, but the body is not valid {encoding}."
        raise PushError(HTTPStatus.BAD_REQUEST, f"invalid_{encoding.removeprefix('x-')}", message) from error


class _SentBody(io.RawIOBase):
    """The parts of a body as a file that counts what was read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._rest = parts, b""
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content = self._rest or next(self._parts, b"")
        most = len(content) if size < 0 else size
        content, self._rest = content[:most], content[most:]
        self.bytes += len(content)
        return content


class _InvalidContentError(Exception):
    """The body is not of its Content-Encoding."""


class _InflationLimitError(request_body.BodyTooLarge):
    """The body is more than `BodyLimit.ratio` times the bytes sent."""


def _too_large_error(limit: BodyLimit) -> PushError:
    return PushError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body_too_large",
        (
            f"The body is larger than {limit.max_bytes:,} bytes, also the limit after decompression; "
            f"{limit.advice}."
        ),
    )


def _inflation_error(limit: BodyLimit) -> PushError:
    return PushError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body_too_large",
        f"The body decompresses to more than {limit.ratio:,} times its size; {limit.ratio_advice}.",
    )


def _gzip(sent: _SentBody) -> Iterator[bytes]:
    return _inflate(sent, _GZIP, members=_MEMBERS)


def _deflate(sent: _SentBody) -> Iterator[bytes]:
    """Inflate the zlib format, or DEFLATE alone: clients send either under this name."""
    start = sent.read(1)
    is_zlib = start[:1] != b"" and start[0] & 0x0F == zlib.DEFLATED and start[0] >> 4 <= 7
    return _inflate(sent, _ZLIB if is_zlib else _RAW_DEFLATE, members=1, start=start)


def _inflate(sent: _SentBody, format_: int, *, members: int, start: bytes = b"") -> Iterator[bytes]:
    member, count = zlib.decompressobj(format_), 1
    try:
        for part in chain([start], iter(partial(sent.read, _PART), b"")):
            remaining, is_full = part, False
            while remaining or is_full:
                if member.eof:
                    member, count = zlib.decompressobj(format_), count + 1
                    if count > members:
                        raise _InvalidContentError
                content = member.decompress(remaining, _PART)
                yield content
                remaining = member.unconsumed_tail or member.unused_data
                # zlib may hold content back although it has read all of its input.
                is_full = len(content) == _PART and not member.eof
    except zlib.error as error:
        raise _InvalidContentError from error
    if not member.eof:
        raise _InvalidContentError


def _zstd(sent: _SentBody) -> Iterator[bytes]:
    stream = pa.CompressedInputStream(pa.PythonFile(sent, "r"), "zstd")
    try:
        while content := stream.read(_PART):
            yield content
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, request_body.IncompleteBody):
            raise
        raise _InvalidContentError from error
    if not sent.bytes:
        raise _InvalidContentError


_DECODERS: Final[dict[str, Callable[[_SentBody], Iterator[bytes]]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
}
ACCEPTED: Final = "gzip, deflate, zstd, identity"

"""The body of a request that a backend sends: limited before and after decompression, read in parts, with errors in the
product's format."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest
from rest_framework.exceptions import APIException

from finops.lib import request_body

_PART: Final = 1024**2
_GZIP: Final = 31
"""zlib's setting for a gzip header and no other format."""
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
    """Return the body, decompressed if it is gzip. Raises PushError as `body_chunks`. Never holds more than the limit and a
    part."""
    return b"".join(body_chunks(request, limit))


def body_chunks(request: HttpRequest, limit: BodyLimit) -> Iterator[bytes]:
    """Yield the body in parts of at most a MiB, decompressed if it is gzip. Raises PushError: 413 over the limit, 415 for
    another encoding, 400 for invalid gzip or an incomplete body."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise PushError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_encoding",
            "Content-Encoding must be gzip, or left out.",
            {"Accept-Encoding": "gzip, identity"},
        )
    try:
        parts = request_body.parts(request, limit.max_bytes)
        yield from _inflate(parts, limit) if encoding == "gzip" else parts
    except request_body.BodyTooLarge as error:
        too_inflated = isinstance(error, _InflationLimitError)
        raise (_inflation_error(limit) if too_inflated else _too_large_error(limit)) from error
    except request_body.IncompleteBody as error:
        raise PushError(HTTPStatus.BAD_REQUEST, "broken_off", "The body is incomplete.") from error


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


def _inflate(parts: Iterator[bytes], limit: BodyLimit) -> Iterator[bytes]:
    """Yield the content of up to a thousand gzip members, in parts."""
    member, members, sent_bytes, inflated_bytes = zlib.decompressobj(_GZIP), 1, 0, 0
    try:
        for part in parts:
            remaining, sent_bytes = part, sent_bytes + len(part)
            while remaining:
                if member.eof:
                    member, members = zlib.decompressobj(_GZIP), members + 1
                    if members > _MEMBERS:
                        raise _invalid_gzip_error()
                content = member.decompress(remaining, _PART)
                inflated_bytes += len(content)
                if inflated_bytes > max(RATIO_FROM, limit.ratio * sent_bytes):
                    raise _InflationLimitError
                if inflated_bytes > limit.max_bytes:
                    raise request_body.BodyTooLarge
                yield content
                remaining = member.unconsumed_tail or member.unused_data
    except zlib.error as error:
        raise _invalid_gzip_error() from error
    if not member.eof:
        raise _invalid_gzip_error()


def _invalid_gzip_error() -> PushError:
    return PushError(
        HTTPStatus.BAD_REQUEST, "invalid_gzip", ("Content-Encoding is gzip, but the body is not valid gzip.")
    )

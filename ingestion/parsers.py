"""From a push request to its events: the body, bounded before and after inflating, then JSON, then each event checked.

Whatever Content-Type says the body is JSON: `curl -d` works as it is.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.request import Request

from finops.lib import request_body
from ingestion.parsing import Batch, MalformedBody, check_batch

_PART: Final = 1024**2
_GZIP: Final = 31
"""What zlib calls a gzip header and nothing else."""
_MEMBERS: Final = 1000
"""Each costs 30 µs, however little is in it: 16 MB of empty ones would cost 20 s."""

RATIO: Final = 100
RATIO_FROM: Final = 256 * 1024
"""From so many inflated bytes on, a body may be so many times what was sent. gzip reaches 1,032 with one byte repeated;
1,000 events that differ reach 10 to 40. Whatever work is done for a byte, the sender pays at least a hundredth of it."""


class PushError(APIException):
    """A request that is refused as a whole. `code` is for programs, the message for people."""

    def __init__(
        self, status: HTTPStatus, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message, code)
        self.status_code = status
        self.headers = headers or {}


class PushRequest(Request):
    """A request whose body is JSON whatever its Content-Type says, and is there whether or not its length is announced.

    DRF looks at both before it asks a parser, and takes a chunked body for none.
    """

    content_type = "application/json"

    @property
    def stream(self) -> HttpRequest:
        request: HttpRequest = self._request
        return request


@dataclasses.dataclass(frozen=True, slots=True)
class PushBody:
    """The body of a push: as inflated, which is what a retry must repeat, and the events in it."""

    content: bytes
    batch: Batch


class EventBatchParser(BaseParser):
    media_type = PushRequest.content_type

    def parse(
        self, stream: HttpRequest, media_type: str | None = None, parser_context: dict[str, Any] | None = None
    ) -> DataAndFiles:
        """A PushBody, and no files. Raises PushError as `read_body` does, and 400 where the body holds no array `events`
        or more events than allowed."""
        content = read_body(stream)
        try:
            return DataAndFiles(PushBody(content, check_batch(content)), {})
        except MalformedBody as error:
            raise PushError(HTTPStatus.BAD_REQUEST, error.code, error.message) from error


def read_body(request: HttpRequest) -> bytes:
    """The body, inflated where it says gzip. Raises PushError: 413 over the limit, 415 for another encoding, 400 for
    gzip that is none or a body that broke off. Never holds more than the limit and a part."""
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise PushError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_encoding",
            "Content-Encoding must be gzip, or left out.",
            {"Accept-Encoding": "gzip, identity"},
        )
    limit = settings.USAGE_MAX_BODY_BYTES
    try:
        if encoding != "gzip":
            return request_body.read(request, limit)
        return _join_within_limit(_inflate(request_body.parts(request, limit)), limit)
    except request_body.BodyTooLarge as error:
        request_body.drain_excess(request, limit)
        raise (
            _inflation_error() if isinstance(error, _InflationLimitError) else _too_large_error()
        ) from error
    except request_body.ClientDisconnect as error:
        raise PushError(HTTPStatus.BAD_REQUEST, "broken_off", "The body broke off.") from error


class _InflationLimitError(request_body.BodyTooLarge):
    """The body is more than RATIO times what was sent."""


def _join_within_limit(parts: Iterator[bytes], limit: int) -> bytes:
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > limit:
            raise request_body.BodyTooLarge
    return bytes(body)


def _too_large_error() -> PushError:
    limit = settings.USAGE_MAX_BODY_BYTES
    return PushError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body_too_large",
        f"The body is larger than {limit:,} bytes, which is also the limit after inflating; send smaller batches.",
    )


def _inflation_error() -> PushError:
    return PushError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body_too_large",
        f"The body inflates to more than {RATIO} times what was sent; send it without Content-Encoding, or fewer events.",
    )


def _inflate(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The content of up to a thousand gzip members, in parts."""
    member, members, sent_bytes, inflated_bytes = zlib.decompressobj(_GZIP), 1, 0, 0
    try:
        for part in parts:
            rest, sent_bytes = part, sent_bytes + len(part)
            while rest:
                if member.eof:
                    member, members = zlib.decompressobj(_GZIP), members + 1
                    if members > _MEMBERS:
                        raise _invalid_gzip_error()
                content = member.decompress(rest, _PART)
                inflated_bytes += len(content)
                if inflated_bytes > max(RATIO_FROM, RATIO * sent_bytes):
                    raise _InflationLimitError
                yield content
                rest = member.unconsumed_tail or member.unused_data
    except zlib.error as error:
        raise _invalid_gzip_error() from error
    if not member.eof:
        raise _invalid_gzip_error()


def _invalid_gzip_error() -> PushError:
    return PushError(
        HTTPStatus.BAD_REQUEST, "invalid_gzip", "Content-Encoding says gzip, but the body is not whole gzip."
    )

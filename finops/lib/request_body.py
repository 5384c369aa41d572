"""Reading a request's body up to a limit, with or without a Content-Length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Final

from django.http import HttpRequest

_PART: Final = 1024**2


class BodyTooLarge(Exception):
    """The body has, or announces, more bytes than the limit."""


class IncompleteBody(OSError):
    """The body ended before its announced length or its last chunk, or came too slowly. Django turns an OSError of a
    body into UnreadablePostError."""


def read(request: HttpRequest, limit: int) -> bytes:
    """Return the whole body. Raises BodyTooLarge and IncompleteBody."""
    return b"".join(parts(request, limit))


def parts(request: HttpRequest, limit: int) -> Iterator[bytes]:
    """Yield the body in parts of at most a MiB, reading at most one byte beyond the limit. Raises BodyTooLarge, before
    anything is read where the length was announced, and IncompleteBody."""
    length = _content_length(request)
    if length > limit:
        raise BodyTooLarge
    stream, received = _stream(request), 0
    try:
        while part := stream.read(min(_PART, limit + 1 - received)):
            received += len(part)
            yield part
            if received > limit:
                raise BodyTooLarge
    except OSError as error:
        raise IncompleteBody from error
    if received < length:
        raise IncompleteBody


def read_in_memory(request: HttpRequest, limit: int) -> bytes:
    """Return the body of a request that is refused, if it is within the limit and has arrived before its endpoint was asked
    (finops.web.admission); otherwise nothing."""
    if not 0 < _content_length(request) <= limit or request.META.get("HTTP_EXPECT"):
        return b""
    try:
        return read(request, limit)
    except IncompleteBody:
        return b""


def _content_length(request: HttpRequest) -> int:
    """Return the length that the client announces; 0 for none."""
    text: str = request.META.get("CONTENT_LENGTH") or ""
    return int(text[:20]) if text.isdecimal() else 0


def _stream(request: HttpRequest) -> IO[bytes] | HttpRequest:
    """Return the stream to read. Django reads a chunked body as empty; a server that marks the end of its input can be read
    directly."""
    if not request.META.get("CONTENT_LENGTH") and request.META.get("wsgi.input_terminated"):
        chunked: IO[bytes] = request.META["wsgi.input"]
        return chunked
    return request

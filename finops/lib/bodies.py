"""Reading a request's body no further than a limit, whether or not its length was announced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Final

from django.http import HttpRequest, UnreadablePostError

_PART: Final = 1024**2


class BodyTooLarge(Exception):
    """The body has, or says that it has, more bytes than the limit."""


class BodyBrokeOff(Exception):
    """The client went away within the body."""


def read(request: HttpRequest, limit: int) -> bytes:
    """The whole body. Raises BodyTooLarge and BodyBrokeOff."""
    return b"".join(parts(request, limit))


def parts(request: HttpRequest, limit: int) -> Iterator[bytes]:
    """The body in parts of a MiB at most, read no further than a byte after the limit. Raises BodyTooLarge, before
    anything is read where the length was announced, and BodyBrokeOff."""
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise BodyTooLarge
    stream, left = _stream(request), limit + 1
    try:
        while part := stream.read(min(_PART, left)):
            left -= len(part)
            if not left:
                raise BodyTooLarge
            yield part
    except UnreadablePostError as error:
        raise BodyBrokeOff from error


def _stream(request: HttpRequest) -> IO[bytes] | HttpRequest:
    """Django reads a chunked body as empty; a server that marks the end of its input can be read directly."""
    if not request.META.get("CONTENT_LENGTH") and request.META.get("wsgi.input_terminated"):
        chunked: IO[bytes] = request.META["wsgi.input"]
        return chunked
    return request

"""Reading a request's body no further than a limit, whether or not its length was announced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import IO, Final

from django.http import HttpRequest, UnreadablePostError

_PART: Final = 1024**2

EXCESS: Final = 4
"""A body of up to so many times its limit is read to its end before it is refused."""
EXCESS_SECONDS: Final = 10.0

# Reads at once whose time is limited, each a thread until the client goes on or away: what refusals may cost. Beyond
# that nothing more is read. Strangers take none of the readers of those who have a key.
_EXCESS_READERS: Final = threading.BoundedSemaphore(4)
_ARRIVED_READERS: Final = threading.BoundedSemaphore(4)


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
    if _declared(request) > limit:
        raise BodyTooLarge
    stream, left = _stream(request), limit + 1
    try:
        while part := stream.read(min(_PART, left)):
            left -= len(part)
            yield part
            if not left:
                raise BodyTooLarge
    except UnreadablePostError as error:
        raise BodyBrokeOff from error


def excess(request: HttpRequest, limit: int, *, keep: bool = False) -> bytes:
    """Read what is left of a body that is over the limit; with `keep`, the bytes of it.

    Clients such as urllib send everything before they look at the answer: a server that answers and closes before is a
    broken pipe to them. At most EXCESS times the limit and EXCESS_SECONDS; nothing of a body that says it is longer, or
    that the client holds back until it is asked for (`Expect`).
    """
    declared = _declared(request)
    if declared > EXCESS * limit or request.META.get("HTTP_EXPECT"):
        return b""
    most = declared or (EXCESS - 1) * limit
    return _in_time(EXCESS_SECONDS, _EXCESS_READERS, _Reading(_stream(request), most, keep))


def arrived(request: HttpRequest, limit: int, seconds: float) -> bytes:
    """A body that is announced as no longer than the limit and comes within the time; else a part of it or nothing."""
    if not 0 < _declared(request) <= limit or request.META.get("HTTP_EXPECT"):
        return b""
    return _in_time(seconds, _ARRIVED_READERS, _Reading(_stream(request), limit, keep=True))


class _Reading(threading.Thread):
    """Reads from a stream that nobody can be made to stop reading. It ends with the client's connection at the latest."""

    def __init__(self, stream: IO[bytes] | HttpRequest, most: int, keep: bool) -> None:
        super().__init__(name="rest of a body", daemon=True)
        self._stream, self._left, self._keep = stream, most, keep
        self._found: list[bytes] = []
        self.is_given_up = False
        self.ended: Callable[[], object] = lambda: None

    def run(self) -> None:
        try:
            while not self.is_given_up and (part := self._stream.read(min(_PART // 16, self._left))):
                self._left -= len(part)
                if self._keep:
                    self._found.append(part)
        except OSError:
            pass  # the client went away
        finally:
            self.ended()

    @property
    def found(self) -> bytes:
        return b"".join(self._found)


def _in_time(seconds: float, readers: threading.BoundedSemaphore, reading: _Reading) -> bytes:
    if not readers.acquire(blocking=False):
        return b""
    reading.ended = readers.release
    try:
        reading.start()
    except RuntimeError:  # no more threads
        readers.release()
        return b""
    reading.join(seconds)
    reading.is_given_up = True
    return reading.found


def _declared(request: HttpRequest) -> int:
    """The length that the client announces; 0 for none."""
    text: str = request.META.get("CONTENT_LENGTH") or ""
    return int(text[:20]) if text.isdecimal() else 0


def _stream(request: HttpRequest) -> IO[bytes] | HttpRequest:
    """Django reads a chunked body as empty; a server that marks the end of its input can be read directly."""
    if not request.META.get("CONTENT_LENGTH") and request.META.get("wsgi.input_terminated"):
        chunked: IO[bytes] = request.META["wsgi.input"]
        return chunked
    return request

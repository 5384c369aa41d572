"""Reading a request's body up to a limit, with or without a Content-Length."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import IO, Final

from django.http import HttpRequest, UnreadablePostError

_PART: Final = 1024**2

EXCESS_FACTOR: Final = 4
"""A body of up to this many times its limit is read to its end before it is refused."""
EXCESS_SECONDS: Final = 10.0

# Concurrent reads with a time limit, each in a thread until the client continues or disconnects: the most that refusals
# may cost. Beyond that nothing more is read. Unknown clients cannot use the readers for clients with a key.
_EXCESS_READERS: Final = threading.BoundedSemaphore(4)
_TIMED_READERS: Final = threading.BoundedSemaphore(4)


class BodyTooLarge(Exception):
    """The body has, or announces, more bytes than the limit."""


class ClientDisconnect(Exception):
    """The client disconnected within the body."""


def read(request: HttpRequest, limit: int) -> bytes:
    """Return the whole body. Raises BodyTooLarge and ClientDisconnect."""
    return b"".join(parts(request, limit))


def parts(request: HttpRequest, limit: int) -> Iterator[bytes]:
    """Yield the body in parts of at most a MiB, reading at most one byte beyond the limit. Raises BodyTooLarge, before
    anything is read where the length was announced, and ClientDisconnect."""
    if _content_length(request) > limit:
        raise BodyTooLarge
    stream, remaining = _stream(request), limit + 1
    try:
        while part := stream.read(min(_PART, remaining)):
            remaining -= len(part)
            yield part
            if not remaining:
                raise BodyTooLarge
    except UnreadablePostError as error:
        raise ClientDisconnect from error


def drain_excess(request: HttpRequest, limit: int, *, keep: bool = False) -> bytes:
    """Read the rest of a body that is over the limit; with `keep`, return its bytes.

    Clients such as urllib send everything before they read the response: if a server responds and closes before, they get a
    broken pipe. Reads at most EXCESS_FACTOR times the limit and EXCESS_SECONDS; nothing of a body that announces more, or that the
    client holds back until the server confirms (`Expect`).
    """
    content_length = _content_length(request)
    if content_length > EXCESS_FACTOR * limit or request.META.get("HTTP_EXPECT"):
        return b""
    max_bytes = content_length or (EXCESS_FACTOR - 1) * limit
    return _run_reader(EXCESS_SECONDS, _EXCESS_READERS, _BodyReader(_stream(request), max_bytes, keep))


def read_within(request: HttpRequest, limit: int, seconds: float) -> bytes:
    """Return a body whose announced length is within the limit and that arrives in time; otherwise a part of it or nothing."""
    if not 0 < _content_length(request) <= limit or request.META.get("HTTP_EXPECT"):
        return b""
    return _run_reader(seconds, _TIMED_READERS, _BodyReader(_stream(request), limit, keep=True))


class _BodyReader(threading.Thread):
    """A thread that reads from a stream whose reads cannot be interrupted. It ends with the client's connection at the
    latest."""

    def __init__(self, stream: IO[bytes] | HttpRequest, max_bytes: int, keep: bool) -> None:
        super().__init__(name="rest of a body", daemon=True)
        self._stream, self._remaining, self._keep = stream, max_bytes, keep
        self._chunks: list[bytes] = []
        self.is_abandoned = False
        self.on_end: Callable[[], object] = lambda: None

    def run(self) -> None:
        try:
            while not self.is_abandoned and (part := self._stream.read(min(_PART // 16, self._remaining))):
                self._remaining -= len(part)
                if self._keep:
                    self._chunks.append(part)
        except OSError:
            pass  # the client disconnected
        finally:
            self.on_end()

    @property
    def data(self) -> bytes:
        return b"".join(self._chunks)


def _run_reader(seconds: float, readers: threading.BoundedSemaphore, reader: _BodyReader) -> bytes:
    if not readers.acquire(blocking=False):
        return b""
    reader.on_end = readers.release
    try:
        reader.start()
    except RuntimeError:  # no more threads
        readers.release()
        return b""
    reader.join(seconds)
    reader.is_abandoned = True
    return reader.data


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

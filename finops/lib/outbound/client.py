"""One request to a checked endpoint, within a fixed deadline."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final, cast

from finops.lib.outbound.endpoints import (
    DeliveryTimeout,
    Endpoint,
    TimeoutReason,
    UrlRefusal,
    resolve_endpoint,
)

MAX_BODY: Final = 4_096
BLOCK_BYTES: Final = 256 * 1024
"""Bytes of a sent file that are read at a time."""
CHECK_SECONDS: Final = 5.0
BODY_SECONDS: Final = 2.0
"""Seconds for a response's body, once its status is here: the message has arrived, and the body is only shown."""
_UNREACHABLE: Final[tuple[str, TimeoutReason]] = ("could not be reached", "connection_refused")


@dataclass(frozen=True, slots=True)
class Response:
    """A response; `body` is its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def check_url(url: str, *, field: str = "url") -> None:
    """Raise UrlRefusal, with the field, for a URL that `post` would refuse, and for a name that DNS does not have. Queries
    DNS: up to 5 s."""
    try:
        resolve_endpoint(url, field, time.monotonic() + CHECK_SECONDS)
    except DeliveryTimeout as error:
        raise UrlRefusal(f"{field}: {error} Check the host's name.", field=field) from error


def post(url: str, *, body: bytes, headers: Mapping[str, str], seconds: float) -> Response:
    """Send a POST request and return the response whatever its status. Raises UrlRefusal and DeliveryTimeout, within the
    seconds."""
    deadline = time.monotonic() + seconds
    endpoint = resolve_endpoint(url, "url", deadline)
    all_headers = {"Accept-Encoding": "identity", **headers}
    with closing(_connect(endpoint, deadline)) as sock, _explain_failures(endpoint.host):
        wire = _DeadlineSocket(sock, deadline)
        with closing(_exchange(endpoint, wire, "POST", body, all_headers)) as response:
            wire.shorten_deadline(BODY_SECONDS)
            return Response(response.status, dict(response.headers.items()), _read_beginning(response))


class ResponseStream:
    """A response whose body is read in parts. Header names are in lower case."""

    def __init__(self, host: str, response: http.client.HTTPResponse) -> None:
        self.host = host
        self.status = response.status
        self.headers = {name.casefold(): value for name, value in response.headers.items()}
        self._response = response

    def read(self, max_bytes: int) -> bytes:
        """Return the next part as it was sent, compressed or not; empty at the end. Raises DeliveryTimeout at the deadline,
        and for a body that is shorter than its Content-Length."""
        with _explain_failures(self.host):
            part = self._response.read1(max_bytes)
            if not part and self._response.length:
                raise http.client.IncompleteRead(b"", self._response.length)
        return part


@contextmanager
def open_stream(
    method: str,
    url: str,
    *,
    query: str = "",
    body: bytes | BinaryIO | None = None,
    headers: Mapping[str, str],
    seconds: float,
) -> Iterator[ResponseStream]:
    """Send a request and yield its response, whatever its status and length: the caller bounds how much it reads. The
    seconds cover all of it together. `query` is encoded already. A body that is an open file is sent in parts, and needs
    its Content-Length among the headers. Raises UrlRefusal and DeliveryTimeout."""
    deadline = time.monotonic() + seconds
    endpoint = resolve_endpoint(url, "url", deadline)
    if query:
        endpoint = replace(endpoint, parts=endpoint.parts._replace(query=query))
    with closing(_connect(endpoint, deadline)) as sock:
        with _explain_failures(endpoint.host):
            response = _exchange(endpoint, _DeadlineSocket(sock, deadline), method, body, headers)
        with closing(response):
            yield ResponseStream(endpoint.host, response)


@contextmanager
def _explain_failures(host: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise DeliveryTimeout(f"{host} did not answer in time.", reason="timeout") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DeliveryTimeout(f"{host} closed the connection or did not return HTTP.") from error


def _connect(endpoint: Endpoint, deadline: float) -> socket.socket:
    """Connect to the first address that accepts; each gets its share of the remaining time."""
    problem, reason = _UNREACHABLE
    for number, address in enumerate(endpoint.addresses):
        share = (deadline - time.monotonic()) / (len(endpoint.addresses) - number)
        if share <= 0:
            break
        try:
            return _wrap_tls(
                endpoint, socket.create_connection((address, endpoint.port), timeout=share), deadline
            )
        except ssl.SSLCertVerificationError as error:
            problem, reason = f"has an invalid certificate: {error.verify_message}", "tls_error"
        except TimeoutError:
            problem, reason = "could not be reached", "timeout"
        except (OSError, ValueError):
            problem, reason = _UNREACHABLE
    raise DeliveryTimeout(f"{endpoint.host} {problem}.", reason=reason)


def _wrap_tls(endpoint: Endpoint, sock: socket.socket, deadline: float) -> socket.socket:
    if endpoint.parts.scheme != "https":
        return sock
    sock.settimeout(max(0.001, deadline - time.monotonic()))
    try:
        return ssl.create_default_context().wrap_socket(sock, server_hostname=endpoint.host)
    except BaseException:
        sock.close()
        raise


def _exchange(
    endpoint: Endpoint,
    sock: _DeadlineSocket,
    method: str,
    body: bytes | BinaryIO | None,
    headers: Mapping[str, str],
) -> http.client.HTTPResponse:
    kind = _TlsHostConnection if endpoint.parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(endpoint.host, endpoint.port, blocksize=BLOCK_BYTES)
    connection.sock = cast(Any, sock)
    all_headers = {"User-Agent": "FinOps-Console", **headers, "Connection": "close"}
    with suppress(BrokenPipeError):  # a server may refuse a long body and close before it has read all
        connection.request(method, endpoint.path, body=body, headers=all_headers)
    return connection.getresponse()


def _read_beginning(response: http.client.HTTPResponse) -> bytes:
    """Return what arrived of the body in time. A partial body is no failure: the status is the result."""
    body = b""
    try:
        while len(body) < MAX_BODY and (part := response.read1(MAX_BODY - len(body))):
            body += part
    except (OSError, http.client.HTTPException, ValueError):
        return body
    return body


class _TlsHostConnection(http.client.HTTPConnection):
    """A connection whose socket is TLS already; used for its Host header only."""

    default_port = 443


class _DeadlineSocket:
    """The parts of a socket that http.client needs, with one deadline for all waits: a socket's own timeout restarts with
    every byte."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def shorten_deadline(self, seconds: float) -> None:
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def sendall(self, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            self._wait()
            remaining = remaining[self._sock.send(remaining) :]

    def receive_into(self, buffer: memoryview) -> int:
        self._wait()
        return self._sock.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """Do nothing: `post` closes the socket."""

    def _wait(self) -> None:
        seconds_left = self._deadline - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError
        self._sock.settimeout(seconds_left)


class _Reader(io.RawIOBase):
    def __init__(self, wire: _DeadlineSocket) -> None:
        super().__init__()
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.receive_into(memoryview(buffer))

"""One request to a checked place, within a deadline that nothing stretches."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, cast

from finops.lib.outbound.endpoints import DeliveryTimeout, Endpoint, UrlRefusal, resolve_endpoint

MAX_BODY: Final = 4_096
CHECK_SECONDS: Final = 5.0
BODY_SECONDS: Final = 2.0
"""For an answer's body, once its status is here: the message has arrived, and the rest is only shown."""


@dataclass(frozen=True, slots=True)
class Response:
    """`body` is its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def check_url(url: str, *, field: str = "url") -> None:
    """Raises Refused, with the field, for a URL that `post` would refuse, and for a name that DNS does not know. Asks
    DNS: up to 5 s."""
    try:
        resolve_endpoint(url, field, time.monotonic() + CHECK_SECONDS)
    except DeliveryTimeout as error:
        raise UrlRefusal(f"{field}: {error} Check the host's name.", field=field) from error


def post(url: str, *, body: bytes, headers: Mapping[str, str], seconds: float) -> Response:
    """Send it, and give the answer whatever its status. Raises Refused and DeliveryTimeout, within the seconds."""
    deadline = time.monotonic() + seconds
    endpoint = resolve_endpoint(url, "url", deadline)
    all_headers = {
        "User-Agent": "FinOps-Console",
        "Accept-Encoding": "identity",
        **headers,
        "Connection": "close",
    }
    with closing(_connect(endpoint, deadline)) as sock:
        try:
            return _exchange(endpoint, _DeadlineSocket(sock, deadline), body, all_headers)
        except TimeoutError as error:
            raise DeliveryTimeout(f"{endpoint.host} did not answer in time.") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DeliveryTimeout(
                f"{endpoint.host} broke the connection off, or answered no HTTP."
            ) from error


def _connect(endpoint: Endpoint, deadline: float) -> socket.socket:
    """A connection to the first address that takes one; each gets its share of the time that is left."""
    reason = "could not be reached"
    for number, address in enumerate(endpoint.addresses):
        share = (deadline - time.monotonic()) / (len(endpoint.addresses) - number)
        if share <= 0:
            break
        try:
            return _wrap_tls(
                endpoint, socket.create_connection((address, endpoint.port), timeout=share), deadline
            )
        except ssl.SSLCertVerificationError as error:
            reason = f"showed a certificate that is not valid: {error.verify_message}"
        except (OSError, ValueError):
            reason = "could not be reached"
    raise DeliveryTimeout(f"{endpoint.host} {reason}.")


def _wrap_tls(endpoint: Endpoint, sock: socket.socket, deadline: float) -> socket.socket:
    if endpoint.parts.scheme != "https":
        return sock
    sock.settimeout(max(0.001, deadline - time.monotonic()))
    try:
        return ssl.create_default_context().wrap_socket(sock, server_hostname=endpoint.host)
    except BaseException:
        sock.close()
        raise


def _exchange(endpoint: Endpoint, sock: _DeadlineSocket, body: bytes, headers: Mapping[str, str]) -> Response:
    kind = _TlsHostConnection if endpoint.parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(endpoint.host, endpoint.port)
    connection.sock = cast(Any, sock)
    connection.request("POST", endpoint.path, body=body, headers=dict(headers))
    with closing(connection.getresponse()) as response:
        sock.shorten_deadline(BODY_SECONDS)
        return Response(response.status, dict(response.headers.items()), _read_beginning(response))


def _read_beginning(response: http.client.HTTPResponse) -> bytes:
    """What came of the body in time. That some is missing is no failure: the status says how it went."""
    body = b""
    try:
        while len(body) < MAX_BODY and (part := response.read1(MAX_BODY - len(body))):
            body += part
    except (OSError, http.client.HTTPException, ValueError):
        return body
    return body


class _TlsHostConnection(http.client.HTTPConnection):
    """For its Host header alone: the socket is secured already."""

    default_port = 443


class _DeadlineSocket:
    """What http.client needs of a socket, where each wait ends at the one deadline: a socket's own time-out begins anew
    with every byte."""

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
        """`post` closes it."""

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

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

from finops.lib.outbound.places import NoAnswer, Place, Refused, place_of

MAX_BODY: Final = 4_096
CHECK_SECONDS: Final = 5.0
BODY_SECONDS: Final = 2.0
"""For an answer's body, once its status is here: the message has arrived, and the rest is only shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def check_url(url: str, *, field: str = "url") -> None:
    """Raises Refused, with the field, for a URL that `post` would refuse, and for a name that DNS does not know. Asks
    DNS: up to 5 s."""
    try:
        place_of(url, field, time.monotonic() + CHECK_SECONDS)
    except NoAnswer as error:
        raise Refused(f"{field}: {error} Check the host's name.", field=field) from error


def post(url: str, *, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
    """Send it, and give the answer whatever its status. Raises Refused and NoAnswer, within the seconds."""
    deadline = time.monotonic() + seconds
    place = place_of(url, "url", deadline)
    said = {"User-Agent": "FinOps-Console", "Accept-Encoding": "identity", **headers, "Connection": "close"}
    with closing(_connected(place, deadline)) as sock:
        try:
            return _exchange(place, _Wire(sock, deadline), body, said)
        except TimeoutError as error:
            raise NoAnswer(f"{place.host} did not answer in time.") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoAnswer(f"{place.host} broke the connection off, or answered no HTTP.") from error


def _connected(place: Place, deadline: float) -> socket.socket:
    """A connection to the first address that takes one; each gets its share of the time that is left."""
    why = "could not be reached"
    for number, address in enumerate(place.addresses):
        share = (deadline - time.monotonic()) / (len(place.addresses) - number)
        if share <= 0:
            break
        try:
            return _secured(place, socket.create_connection((address, place.port), timeout=share), deadline)
        except ssl.SSLCertVerificationError as error:
            why = f"showed a certificate that is not valid: {error.verify_message}"
        except (OSError, ValueError):
            why = "could not be reached"
    raise NoAnswer(f"{place.host} {why}.")


def _secured(place: Place, sock: socket.socket, deadline: float) -> socket.socket:
    if place.parts.scheme != "https":
        return sock
    sock.settimeout(max(0.001, deadline - time.monotonic()))
    try:
        return ssl.create_default_context().wrap_socket(sock, server_hostname=place.host)
    except BaseException:
        sock.close()
        raise


def _exchange(place: Place, wire: _Wire, body: bytes, headers: Mapping[str, str]) -> Answer:
    kind = _Secure if place.parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.host, place.port)
    connection.sock = cast(Any, wire)
    connection.request("POST", place.path, body=body, headers=dict(headers))
    with closing(connection.getresponse()) as response:
        wire.hurry(BODY_SECONDS)
        return Answer(response.status, dict(response.headers.items()), _beginning(response))


def _beginning(response: http.client.HTTPResponse) -> bytes:
    """What came of the body in time. That some is missing is no failure: the status says how it went."""
    body = b""
    try:
        while len(body) < MAX_BODY and (part := response.read1(MAX_BODY - len(body))):
            body += part
    except (OSError, http.client.HTTPException, ValueError):
        return body
    return body


class _Secure(http.client.HTTPConnection):
    """For its Host header alone: the socket is secured already."""

    default_port = 443


class _Wire:
    """What http.client needs of a socket, where each wait ends at the one deadline: a socket's own time-out begins anew
    with every byte."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def hurry(self, seconds: float) -> None:
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def sendall(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            self._wait()
            left = left[self._sock.send(left) :]

    def receive_into(self, buffer: memoryview) -> int:
        self._wait()
        return self._sock.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """`post` closes it."""

    def _wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)


class _Reader(io.RawIOBase):
    def __init__(self, wire: _Wire) -> None:
        super().__init__()
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.receive_into(memoryview(buffer))

"""A WSGI application in front of Django. It reads the body before the request takes a slot, and limits each kind of
request separately.

The order of a request: it is counted (`requests`); its body is read in a thread that waits for the client and holds
no other resource; it takes a slot of its kind (`bulkheads`); Django responds; the slot is released. Health checks
take no slot. If too many requests wait, a request is refused at once with `finops.busy` in its environment, for
which each kind has its own response (503 and Retry-After). docs/benchmarks.md has the measured overhead of a request.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO, Any, Final

from finops.lib.bulkheads import Bulkhead, Busy
from finops.lib.client_address import client_network
from finops.lib.telemetry import context
from finops.lib.turns import Turns
from finops.web.requests import BodyBrokeOff, CountedInput, OpenRequest, OpenRequests, TooMany, read_whole
from finops.web.shares import ConnectionShares

BUSY: Final = "finops.busy"
TENANT: Final = context.TENANT
"""Key in the environment, set once the request's account is known. Later requests with the same credential share its queue.
"""


def tenant(account_id: object) -> str:
    return f"account {account_id}"


SMALL_BODY: Final = 64 * 1024
RETRY_SECONDS: Final = 2

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


@dataclass(frozen=True)
class RequestKind:
    """A kind of requests: all paths with this prefix. `body`: bytes that are read before a slot is taken, for a
    credential that was valid before; `SMALL_BODY` for other credentials. `turns`: of requests with larger bodies, which
    compute in Python.
    """

    prefixes: tuple[str, ...]
    bulkhead: Bulkhead
    body: int
    turns: Turns | None = None


@dataclass(frozen=True)
class Uploads:
    """Slots for forms with a large file: the application reads the file itself and holds a slot while it arrives.
    `unknown`: the limit for credentials not seen before."""

    known: Bulkhead
    unknown: Bulkhead


class Admission:
    """A WSGI application around another. The last kind matches every path; `free` paths pass without a slot."""

    def __init__(
        self,
        application: Application,
        requests: OpenRequests,
        kinds: Sequence[RequestKind],
        uploads: Uploads,
        free: Sequence[str],
        shares: ConnectionShares | None = None,
    ) -> None:
        self._application, self._requests, self._kinds, self._free = application, requests, kinds, free
        self._uploads, self._shares = uploads, shares
        self._tenants = _Tenants()

    @property
    def bulkheads(self) -> list[Bulkhead]:
        uploads = self._uploads
        return [*(kind.bulkhead for kind in self._kinds), uploads.known, uploads.unknown]

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path in self._free:
            return self._application(environ, start_response)
        if self._shares is not None and self._shares.give_up():
            start_response = _closing(start_response)
        credential = _credential(environ)
        tenant = self._tenants.of(credential)
        kind, length = self._kind(path), _length(environ)
        max_body = kind.body if tenant else min(kind.body, SMALL_BODY)
        request = OpenRequest(
            peer=environ.get("REMOTE_ADDR", ""),
            client=tenant or client_network(environ),
            is_known=bool(tenant),
            length=length,
            body_memory=length if length is not None and length <= max_body else 0,
        )
        try:
            self._requests.add(request)
        except TooMany:
            return self._busy(environ, start_response)
        try:
            bulkhead = self._bulkhead(kind, environ, request)
            return self._admit(environ, start_response, bulkhead, kind.turns, request)
        finally:
            self._requests.remove(request)
            if credential and (resolved_tenant := environ.get(TENANT)):
                self._tenants.note(credential, resolved_tenant)

    def _admit(
        self,
        environ: Environ,
        start_response: StartResponse,
        bulkhead: Bulkhead,
        turns: Turns | None,
        request: OpenRequest,
    ) -> Iterable[bytes]:
        try:
            _take_body(environ, request)
        except BodyBrokeOff:
            start_response("400 Bad Request", [])
            return []
        try:
            bulkhead.acquire(request.client)
        except Busy:
            return self._busy(environ, start_response)
        answer: Iterable[bytes] = []
        try:
            # Without a turn: small bodies, which mostly wait for PostgreSQL, and bodies that the application reads itself,
            # since a slow client would use its whole turn.
            with turns.begin() if turns and request.received > SMALL_BODY else nullcontext():
                answer = self._application(environ, start_response)
        finally:
            if isinstance(answer, list):
                bulkhead.release(request.client)
        return answer if isinstance(answer, list) else _StreamingAnswer(answer, bulkhead, request.client)

    def _kind(self, path: str) -> RequestKind:
        for kind in self._kinds:
            if path.startswith(kind.prefixes):
                return kind
        return self._kinds[-1]

    def _bulkhead(self, kind: RequestKind, environ: Environ, request: OpenRequest) -> Bulkhead:
        is_form_with_file = environ.get("CONTENT_TYPE", "").startswith("multipart/")
        if not is_form_with_file or request.body_memory or kind is not self._kinds[-1]:
            return kind.bulkhead
        return self._uploads.known if request.is_known else self._uploads.unknown

    def _busy(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        environ[BUSY] = RETRY_SECONDS
        return self._application(environ, start_response)


def _closing(start_response: StartResponse) -> StartResponse:
    """Return a `start_response` that closes the connection, so that the client reconnects for its next request."""

    def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        return start_response(status, [*headers, ("Connection", "close")], *exc_info)

    return start


class _StreamingAnswer:
    """A streamed response, which holds its slot until it has been sent or the client has disconnected."""

    def __init__(self, answer: Iterable[bytes], bulkhead: Bulkhead, client: str) -> None:
        self._answer, self._bulkhead, self._client = answer, bulkhead, client
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        try:
            if hasattr(self._answer, "close"):
                self._answer.close()
        finally:
            if self._is_open:
                self._is_open = False
                self._bulkhead.release(self._client)


class _Tenants:
    """The account of each credential at its last valid use. Stores digests, of the 10,000 newest credentials."""

    MAX_ENTRIES: Final = 10_000

    def __init__(self) -> None:
        self._by_credential: OrderedDict[bytes, str] = OrderedDict()

    def of(self, credential: bytes) -> str:
        return self._by_credential.get(credential, "") if credential else ""

    def note(self, credential: bytes, tenant: str) -> None:
        self._by_credential[credential] = tenant
        if len(self._by_credential) > self.MAX_ENTRIES:
            self._by_credential.popitem(last=False)


def _credential(environ: Environ) -> bytes:
    text = environ.get("HTTP_AUTHORIZATION") or environ.get("HTTP_COOKIE")
    return blake2b(text.encode("latin-1", "replace"), digest_size=16).digest() if text else b""


def _length(environ: Environ) -> int | None:
    """Return the announced length of the body; 0 without a body, None if it is chunked."""
    text = environ.get("CONTENT_LENGTH") or ""
    if text:
        return int(text[:20]) if text.isdecimal() else 0
    return None if environ.get("HTTP_TRANSFER_ENCODING") else 0


def _take_body(environ: Environ, request: OpenRequest) -> None:
    """Read the body. Leave it to the application if it is too long, has no announced length, or if the client waits
    for a confirmation (Expect). Raises BodyBrokeOff."""
    stream: IO[bytes] = environ["wsgi.input"]
    is_held_back = "HTTP_EXPECT" in environ and not request.is_known
    if request.length == 0:
        request.is_arriving = False
    elif request.body_memory and not is_held_back:
        environ["wsgi.input"] = io.BytesIO(read_whole(stream, request, request.body_memory))
    else:
        environ["wsgi.input"] = CountedInput(stream, request)

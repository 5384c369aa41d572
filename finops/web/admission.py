"""The ASGI application in front of Django. It reads the body before the request takes a slot, and limits each kind of
request separately.

The order of a request: its body arrives in the event loop (`bodies`), which holds no thread; it takes a slot of its
kind (`finops.lib.bulkheads`); Django responds in a thread; the slot is released. Health checks take no slot, and a request
without a body is not counted among those that arrive. If too many requests wait, or a body is incomplete, Django gets
the request with `finops.refusal` in its environment, for which each endpoint has its own form of error.
docs/benchmarks.md has the overhead of a request.
"""

from __future__ import annotations

import asyncio
import io
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from http import HTTPStatus
from typing import Final

from finops.lib.bulkheads import Bulkhead, Busy
from finops.lib.client_address import client_network
from finops.lib.request_body import IncompleteBody
from finops.lib.telemetry import context
from finops.lib.turns import Turns
from finops.web.bodies import (
    Arrival,
    ArrivingBodies,
    Body,
    BodyStream,
    Pace,
    Receive,
    TooMany,
)
from finops.web.gateway import (
    Answer,
    Application,
    Environ,
    Scope,
    Send,
    ask,
    send_complete,
    send_from_thread,
    stream,
    wsgi_environ,
)
from finops.web.shares import ConnectionShares

REFUSAL: Final = context.REFUSAL
TENANT: Final = context.TENANT
"""Key in the environment, set once the request's account is known. Later requests with the same credential share its queue.
"""
ARRIVING: Final = "finops.arriving"
"""Key in the environment of a request whose application reads the body as it arrives."""
SMALL_BODY: Final = 64 * 1024
THREADS_WITHOUT_SLOT: Final = 4
"""Threads for health checks and refusals, of which one takes a millisecond."""

log = logging.getLogger(__name__)


def tenant(account_id: object) -> str:
    return f"account {account_id}"


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused before its endpoint does anything."""

    status: HTTPStatus
    code: str
    message: str
    retry_seconds: int = 0

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_seconds)} if self.retry_seconds else {}


BUSY: Final = Refusal(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "unavailable",
    "Too many requests are waiting. Nothing was done. Retry in a few seconds.",
    retry_seconds=2,
)
INCOMPLETE: Final = Refusal(
    HTTPStatus.BAD_REQUEST,
    "broken_off",
    "The body is incomplete: it ended before its Content-Length or its last chunk. Nothing was stored; send it again.",
)


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
    """The last kind matches every path; `free` paths pass without a slot."""

    def __init__(
        self,
        application: Application,
        bodies: ArrivingBodies,
        kinds: Sequence[RequestKind],
        uploads: Uploads,
        free: Sequence[str],
        pace: Pace,
        shares: ConnectionShares | None = None,
    ) -> None:
        self._application, self._bodies, self._kinds, self._free = application, bodies, kinds, free
        self._uploads, self._pace, self._shares = uploads, pace, shares
        self._tenants = _Tenants()
        self._refusals = _RefusalLog()
        self._threads = ThreadPoolExecutor(sum(each.size for each in self.bulkheads), "request")
        self._without_slot = ThreadPoolExecutor(THREADS_WITHOUT_SLOT, "without a slot")

    @property
    def bulkheads(self) -> list[Bulkhead]:
        uploads = self._uploads
        return [*(kind.bulkhead for kind in self._kinds), uploads.known, uploads.unknown]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        environ = wsgi_environ(scope)
        path = environ["PATH_INFO"]
        body = Body(receive, _length(environ), self._pace)
        if self._shares is not None and self._shares.give_up():
            send = _closing(send)
        if path in self._free:
            environ["wsgi.input"] = io.BytesIO()
            await self._answer_without_slot(environ, body, send)
            return
        credential = _credential(environ)
        tenant = self._tenants.of(credential)
        kind = self._kind(path)
        client = tenant or client_network(environ)
        try:
            in_memory = await self._take_body(environ, body, kind, client, is_known=bool(tenant))
        except TooMany:
            await self._refuse(BUSY, f"bodies of {kind.bulkhead.name}", environ, body, send)
            return
        except IncompleteBody:
            await self._refuse(INCOMPLETE, "", environ, body, send)
            return
        bulkhead = self._bulkhead(kind, environ, in_memory=in_memory, is_known=bool(tenant))
        try:
            await bulkhead.acquire_in_loop(client)
        except Busy:
            await self._refuse(BUSY, bulkhead.name, environ, body, send)
            return
        try:
            # Without a turn: small bodies, which mostly wait for PostgreSQL, and bodies that the application reads itself,
            # since a slow client would use its whole turn.
            turns = kind.turns if in_memory and body.received > SMALL_BODY else None
            answer = await asyncio.get_running_loop().run_in_executor(
                self._threads, self._answer, environ, body, turns, send
            )
            if answer is not None and not answer.is_complete:
                await stream(self._threads, receive, send, answer)
                answer = None
        finally:
            bulkhead.release(client)
            if credential and (resolved_tenant := environ.get(TENANT)):
                self._tenants.note(credential, resolved_tenant)
        if answer is not None:
            await self._send_beside_body(answer, environ, body, send)

    async def _take_body(
        self, environ: Environ, body: Body, kind: RequestKind, client: str, *, is_known: bool
    ) -> bool:
        """Read the body and return whether the whole of it is in memory. Leave the rest of one that is too long, and all of one
        whose client waits for a confirmation (Expect), to the application. Raises TooMany and IncompleteBody."""
        if body.length == 0:
            environ["wsgi.input"] = io.BytesIO()
            return True
        most = kind.body if is_known else min(kind.body, SMALL_BODY)
        if body.length is None:
            most = min(most, SMALL_BODY)
        is_held_back = "HTTP_EXPECT" in environ and not is_known
        begun = b""
        if not is_held_back and (body.length is None or body.length <= most):
            arrival = Arrival(body, client, is_known, memory=body.length or most)
            self._bodies.add(arrival)
            try:
                begun = await body.read(most)
            finally:
                self._bodies.remove(arrival)
        if body.is_complete:
            environ["wsgi.input"] = io.BytesIO(begun)
            environ["CONTENT_LENGTH"] = str(len(begun))
            environ.pop("HTTP_TRANSFER_ENCODING", None)
        else:
            stream = BodyStream(body, begun, asyncio.get_running_loop())
            environ |= {"wsgi.input": io.BufferedReader(stream, SMALL_BODY), ARRIVING: True}
        return body.is_complete

    def _answer(self, environ: Environ, body: Body, turns: Turns | None, send: Send) -> Answer | None:
        """Ask the application. Send an answer that is complete, as its body is, from this thread; return any other."""
        with turns.begin() if turns else nullcontext():
            answer = ask(self._application, environ)
        if not answer.is_complete or not body.is_complete:
            return answer
        send_from_thread(send, answer)
        return None

    async def _send_beside_body(self, answer: Answer, environ: Environ, body: Body, send: Send) -> None:
        """Send the answer to a request whose body was not read to its end. An application that did not notice that the body is
        incomplete has stored nothing, since reading it failed."""
        if body.is_broken and answer.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED):
            text = INCOMPLETE.message.encode()
            answer = Answer(INCOMPLETE.status, [(b"content-type", b"text/plain; charset=utf-8")], [text])
        if "HTTP_EXPECT" not in environ:
            await body.drain()
        await send_complete(send, answer)

    async def _refuse(self, refusal: Refusal, place: str, environ: Environ, body: Body, send: Send) -> None:
        if refusal is BUSY:
            self._refusals.note(place)
        environ[REFUSAL] = refusal
        if "wsgi.input" not in environ:
            environ |= {"wsgi.input": io.BytesIO(), "CONTENT_LENGTH": "0"}
        await self._answer_without_slot(environ, body, send)

    async def _answer_without_slot(self, environ: Environ, body: Body, send: Send) -> None:
        answer = await asyncio.get_running_loop().run_in_executor(
            self._without_slot, ask, self._application, environ
        )
        if "HTTP_EXPECT" not in environ and not body.is_broken:
            await body.drain()
        await send_complete(send, answer)

    def _kind(self, path: str) -> RequestKind:
        for kind in self._kinds:
            if path.startswith(kind.prefixes):
                return kind
        return self._kinds[-1]

    def _bulkhead(self, kind: RequestKind, environ: Environ, *, in_memory: bool, is_known: bool) -> Bulkhead:
        is_form_with_file = environ.get("CONTENT_TYPE", "").startswith("multipart/")
        if not is_form_with_file or in_memory or kind is not self._kinds[-1]:
            return kind.bulkhead
        return self._uploads.known if is_known else self._uploads.unknown


def _closing(send: Send) -> Send:
    """Return a `send` that closes the connection, so that the client reconnects for its next request."""

    async def send_and_close(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"connection", b"close")]  # type: ignore[misc]
        await send(message)

    return send_and_close


class _RefusalLog:
    """A warning a second at most with the number of refused requests: under load there are a hundred a second."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._written_at = float("-inf")

    def note(self, place: str) -> None:
        self._counts[place] += 1
        now = time.monotonic()
        if now - self._written_at < 1:
            return
        counts = ", ".join(f"{count} at {place}" for place, count in self._counts.most_common())
        log.warning("Refused requests, too many wait: %s.", counts)
        self._written_at = now
        self._counts.clear()


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

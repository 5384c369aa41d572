"""Admission around a small application: what takes a slot, what is refused, what is counted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from finops.lib.bulkheads import Bulkhead, Busy
from finops.lib.turns import Turns
from finops.web.admission import REFUSAL, SMALL_BODY, TENANT, Admission, RequestKind, Uploads
from finops.web.bodies import ArrivingBodies, BodyLimits, Pace
from finops.web.gateway import Environ, StartResponse
from finops.web.setup import request_kinds

pytestmark = pytest.mark.anyio

BROKEN = {"type": "http.disconnect"}
Answer = tuple[int, bytes]


class Application:
    """Waits in `/held…` until it is let go; notes what it was asked."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.held = 0
        self.bodies: list[bytes] = []
        self.lengths: list[str | None] = []

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if refusal := environ.get(REFUSAL):
            start_response(f"{refusal.status.value} {refusal.code}", [])
            return [refusal.code.encode()]
        if environ.get("HTTP_AUTHORIZATION"):
            environ[TENANT] = environ["HTTP_AUTHORIZATION"]
        if "fails" in environ["PATH_INFO"]:
            raise RuntimeError
        if "unread" not in environ["PATH_INFO"]:
            self.bodies.append(environ["wsgi.input"].read())
        self.lengths.append(environ.get("CONTENT_LENGTH"))
        if "held" in environ["PATH_INFO"]:
            self.held += 1
            self.go_on.wait(30)
        start_response("200 OK", [("X-Order", "kept")])
        return iter([b"a", b"", b"b"]) if "streamed" in environ["PATH_INFO"] else [b"ok"]


def messages(*parts: bytes) -> list[Mapping[str, Any]]:
    """Return the messages of a body that is complete."""
    last = len(parts) - 1
    return [{"type": "http.request", "body": part, "more_body": n < last} for n, part in enumerate(parts)]


class AdmissionConsole:
    def __init__(self, limits: BodyLimits | None = None, pace: Pace | None = None) -> None:
        self.application = Application()
        self.bodies = ArrivingBodies(limits or BodyLimits())
        self.push = Bulkhead("push", size=2, waiting=4, seconds=0.2)
        self.pages = Bulkhead("pages", size=2, waiting=4, seconds=0.2)
        self.uploads = Uploads(Bulkhead("uploads", size=1), Bulkhead("first", size=1))
        self.turns = Turns(60)
        kinds = [
            RequestKind(("/push",), self.push, 1_000_000),
            RequestKind(("/turns",), Bulkhead("turns", size=4), 10**6, self.turns),
            RequestKind(("/",), self.pages, 100),
        ]
        self.admission = Admission(
            self.application, self.bodies, kinds, self.uploads, ("/healthz",), pace or Pace(grace=5)
        )

    async def ask(
        self,
        path: str,
        body: bytes = b"",
        *,
        parts: Sequence[Mapping[str, Any]] | None = None,
        address: str = "192.0.2.1",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request with its length, or in `parts`; a client that sends no more says nothing."""
        if parts is None:
            headers = {**({"content-length": str(len(body))} if body else {}), **(headers or {})}
            parts = messages(body)
        remaining, sent = list(parts), list[Mapping[str, Any]]()

        async def receive() -> Mapping[str, Any]:
            if not remaining:
                await asyncio.Event().wait()
            return remaining.pop(0)

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "http",
            "server": ("192.0.2.9", "80"),
            "client": (address, "1"),
            "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        }
        await self.admission(scope, receive, send)
        return sent[0]["status"], b"".join(message["body"] for message in sent[1:])

    @asynccontextmanager
    async def holding(self, path: str, count: int, **request: Any) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(self.ask(path, address=f"192.0.2.{n + 10}", **request)) for n in range(count)
        ]
        while self.application.held < count:
            await asyncio.sleep(0.001)
        try:
            yield
        finally:
            self.application.go_on.set()
            await asyncio.gather(*tasks)


async def test_requests_that_fill_all_slots_of_one_kind_leave_the_others_and_health_theirs() -> None:
    console = AdmissionConsole()
    async with console.holding("/held", 2):
        assert await console.ask("/page") == (503, b"unavailable")
        assert await console.ask("/push") == (200, b"ok")
        assert await console.ask("/healthz") == (200, b"ok")
    assert await console.ask("/page") == (200, b"ok")
    assert (console.pages.running, console.push.running, len(console.bodies)) == (0, 0, 0)


async def test_a_body_is_whole_before_a_slot_is_taken() -> None:
    console = AdmissionConsole()
    arriving = asyncio.create_task(
        console.ask("/push", parts=messages(b"x")[:0], headers={"content-length": "10"})
    )
    while not len(console.bodies):
        await asyncio.sleep(0)
    assert console.push.running == 0
    arriving.cancel()
    assert await console.ask(
        "/push", parts=messages(b"x" * 4, b"x" * 6), headers={"content-length": "10"}
    ) == (200, b"ok")
    assert console.application.bodies == [b"x" * 10]


@pytest.mark.parametrize(
    "headers", [{"content-length": "10"}, {"transfer-encoding": "chunked"}], ids=["length", "chunked"]
)
@pytest.mark.parametrize("cut", [[BROKEN], [*messages(b"x", b"")[:1], BROKEN]], ids=["at once", "within"])
async def test_a_body_that_breaks_off_never_reaches_the_application(
    headers: dict[str, str], cut: list[Mapping[str, Any]]
) -> None:
    console = AdmissionConsole()
    assert await console.ask("/push", parts=cut, headers=headers) == (400, b"broken_off")
    assert console.application.bodies == []
    assert (console.push.running, len(console.bodies)) == (0, 0)


async def test_a_body_that_ends_before_its_length_is_refused_though_the_server_calls_it_complete() -> None:
    console = AdmissionConsole()
    assert (await console.ask("/push", b"x", headers={"content-length": "100"}))[0] == 400


async def test_a_body_that_the_client_does_not_finish_in_time_is_refused() -> None:
    console = AdmissionConsole(pace=Pace(grace=0.01))
    assert await console.ask("/push", parts=messages(b"x", b"")[:1], headers={"content-length": "10"}) == (
        400,
        b"broken_off",
    )


@pytest.mark.parametrize("headers", [{"content-length": "200000"}, {"transfer-encoding": "chunked"}])
async def test_reading_a_body_that_breaks_off_fails_in_the_application(headers: dict[str, str]) -> None:
    console = AdmissionConsole()
    cut = [*messages(b"x" * 70_000, b"")[:1], BROKEN]
    with pytest.raises(OSError, match="incomplete"):
        await console.ask("/push", parts=cut, headers=headers)
    assert console.push.running == 0


async def test_a_chunked_body_has_its_length_once_it_is_whole() -> None:
    console = AdmissionConsole()
    await console.ask("/page", parts=messages(b"abc", b"de"), headers={"transfer-encoding": "chunked"})
    assert (console.application.bodies, console.application.lengths) == ([b"abcde"], ["5"])
    await console.ask(
        "/push", parts=messages(b"x" * 70_000, b"x" * 30_000), headers={"transfer-encoding": "chunked"}
    )
    assert (len(console.application.bodies[1]), console.application.lengths[1]) == (100_000, None)


async def test_the_rest_of_a_body_is_read_before_the_answer_of_an_application_that_refuses_it() -> None:
    console = AdmissionConsole()
    parts = [*messages(b"x" * 70_000, b"x" * 70_000), BROKEN]
    assert await console.ask("/push/unread", parts=parts, headers={"content-length": "140000"}) == (
        200,
        b"ok",
    )


async def test_a_large_body_waits_for_its_turn_but_not_a_small_one_or_one_that_is_still_arriving() -> None:
    console = AdmissionConsole()
    large = b"x" * (SMALL_BODY + 1)
    await console.ask("/turns", headers={"authorization": "known"})
    with console.turns.begin():
        waiting = asyncio.create_task(console.ask("/turns", large, headers={"authorization": "known"}))
        while not console.turns._waiting:
            await asyncio.sleep(0.001)
        assert await console.ask("/turns", b"small") == (200, b"ok")
        chunks = messages(large, b"")
        assert (await console.ask("/turns", parts=chunks, headers={"transfer-encoding": "chunked"}))[0] == 200
        assert not waiting.done()
    assert (await waiting)[0] == 200


async def test_a_streamed_answer_is_sent_in_parts_and_then_gives_its_slot_back() -> None:
    console = AdmissionConsole()
    assert await console.ask("/streamed") == (200, b"ab")
    assert console.pages.running == 0


async def test_an_application_that_fails_gives_its_slot_back() -> None:
    console = AdmissionConsole()
    with pytest.raises(RuntimeError):
        await console.ask("/fails")
    assert (console.pages.running, len(console.bodies)) == (0, 0)


async def test_one_client_has_no_more_than_its_share_of_arriving_bodies_and_any_number_of_requests_without() -> (
    None
):
    console = AdmissionConsole(BodyLimits(of_client=2))
    await console.ask("/push", headers={"authorization": "tenant"})
    headers = {"content-length": "10", "authorization": "tenant"}
    tasks = [asyncio.create_task(console.ask("/push", parts=[], headers=headers)) for _ in range(2)]
    while len(console.bodies) < 2:
        await asyncio.sleep(0)
    assert (await console.ask("/push", b"x", headers={"authorization": "tenant"}))[0] == 503
    assert (await console.ask("/page", headers={"authorization": "tenant"}))[0] == 200
    for task in tasks:
        task.cancel()


async def test_unfinished_bodies_of_an_address_do_not_keep_its_neighbours_from_signing_in() -> None:
    console = AdmissionConsole(BodyLimits(of_client=2))
    oldest, newer = (
        asyncio.create_task(console.ask("/login", parts=[], headers={"content-length": "10"}))
        for _ in range(2)
    )
    while len(console.bodies) < 2:
        await asyncio.sleep(0)
    assert (await console.ask("/login"))[0] == 200
    assert (await console.ask("/login", b"password"))[0] == 200
    assert await oldest == (400, b"broken_off")
    assert not newer.done()
    newer.cancel()


async def test_large_bodies_of_strangers_are_not_read_ahead() -> None:
    console = AdmissionConsole()
    body = messages(b"x" * 45_000, b"x" * 45_000)
    headers = {"content-length": "90000", "authorization": "tenant"}

    async def slots_while_arriving() -> int:
        unfinished = asyncio.create_task(console.ask("/push", parts=body[:1], headers=headers))
        await asyncio.sleep(0.05)
        running = console.push.running
        unfinished.cancel()
        return running

    assert await slots_while_arriving() == 1
    await console.ask("/page", headers={"authorization": "tenant"})  # its credential is known now
    assert await slots_while_arriving() == 0


async def test_a_large_form_with_a_file_has_separate_slots() -> None:
    console = AdmissionConsole()
    form = {"content-type": "multipart/form-data; boundary=x"}
    async with console.holding("/held", 2):
        assert (await console.ask("/upload", b"x" * 200, headers=form))[0] == 200
        assert (await console.ask("/upload", b"x" * 20, headers=form))[0] == 503


async def test_header_names_with_underscores_never_reach_the_application() -> None:
    console = AdmissionConsole()
    environs: list[Environ] = []

    def application(environ: Environ, start_response: StartResponse) -> list[bytes]:
        environs.append(environ)
        start_response("200 OK", [])
        return [b""]

    console.admission._application = application
    await console.ask("/page", headers={"x-forwarded-for": "192.0.2.7", "x_forwarded_for": "192.0.2.8"})
    assert environs[0]["HTTP_X_FORWARDED_FOR"] == "192.0.2.7"


async def test_no_page_of_a_client_is_refused_while_others_of_its_pages_wait() -> None:
    pages = next(kind.bulkhead for kind in request_kinds() if kind.prefixes == ("/",))
    waiting = [asyncio.create_task(pages.acquire_in_loop("account 1")) for _ in range(200)]
    while pages.queue_length < 200 - pages.share:
        await asyncio.sleep(0)
    assert pages.running == pages.share
    for number in range(200):
        while not pages.running:
            await asyncio.sleep(0)
        pages.release("account 1")
        assert not any(task.done() and task.exception() for task in waiting), number
    await asyncio.gather(*waiting)
    assert (pages.running, pages.queue_length) == (0, 0)


async def test_one_client_leaves_slots_of_questions_and_pages_to_quiet_ones() -> None:
    for name in ("mcp", "pages"):
        bulkhead = next(kind.bulkhead for kind in request_kinds() if kind.bulkhead.name == name)
        for client in ("account 1", "account 2"):
            with suppress(Busy):
                while True:
                    bulkhead.acquire(client, 0)
        assert bulkhead.running < bulkhead.size
        bulkhead.acquire("account 3", 0)

"""Admission around a small application: what takes a slot, what is refused, what is counted."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from finops.lib.bulkheads import Bulkhead, Busy
from finops.lib.turns import Turns
from finops.web.admission import (
    BUSY,
    SMALL_BODY,
    TENANT,
    Admission,
    Environ,
    RequestKind,
    StartResponse,
    Uploads,
)
from finops.web.requests import OpenRequests, RequestLimits
from finops.web.setup import request_kinds
from tests.waiting import wait_until


class Application:
    """Waits in `/held…` until it is let go; notes what it was asked."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.held = 0
        self.bodies: list[bytes] = []

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if BUSY in environ:
            start_response("503 Busy", [])
            return [b"busy"]
        if environ.get("HTTP_AUTHORIZATION"):
            environ[TENANT] = environ["HTTP_AUTHORIZATION"]
        self.bodies.append(environ["wsgi.input"].read())
        if "held" in environ["PATH_INFO"]:
            self.held += 1
            self.go_on.wait(30)
        start_response("200 OK", [])
        return iter([b"a", b"b"]) if "streamed" in environ["PATH_INFO"] else [b"ok"]


class AdmissionConsole:
    def __init__(self, limits: RequestLimits | None = None) -> None:
        self.application = Application()
        self.requests = OpenRequests(limits or RequestLimits())
        self.push = Bulkhead("push", size=2, waiting=4, seconds=0.2)
        self.pages = Bulkhead("pages", size=2, waiting=4, seconds=0.2)
        self.uploads = Uploads(Bulkhead("uploads", size=1), Bulkhead("first", size=1))
        self.turns = Turns(60)
        kinds = [
            RequestKind(("/push",), self.push, 1000),
            RequestKind(("/turns",), Bulkhead("turns", size=4), 10**6, self.turns),
            RequestKind(("/",), self.pages, 100),
        ]
        self.admission = Admission(self.application, self.requests, kinds, self.uploads, ("/healthz",))

    def ask(self, path: str, body: bytes = b"", **environ: Any) -> tuple[str, list[bytes]]:
        statuses: list[str] = []
        request_environ = {
            "PATH_INFO": path,
            "REMOTE_ADDR": "192.0.2.1",
            "CONTENT_LENGTH": str(len(body)) if body else "",
            "wsgi.input": io.BytesIO(body),
            **environ,
        }
        answer = self.admission(request_environ, lambda status, headers: statuses.append(status))
        try:
            return statuses[0][:3], list(answer)
        finally:
            if hasattr(answer, "close"):
                answer.close()

    @contextmanager
    def holding(self, path: str, count: int, **environ: Any) -> Iterator[None]:
        threads = [
            threading.Thread(
                target=self.ask, args=(path,), kwargs={"REMOTE_ADDR": f"192.0.2.{n + 10}", **environ}
            )
            for n in range(count)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: self.application.held == count)
        try:
            yield
        finally:
            self.application.go_on.set()
            for thread in threads:
                thread.join()


def test_requests_that_fill_all_slots_of_one_kind_leave_the_others_and_health_theirs() -> None:
    console = AdmissionConsole()
    with console.holding("/held", 2):
        assert console.ask("/page") == ("503", [b"busy"])
        assert console.ask("/push") == ("200", [b"ok"])
        assert console.ask("/healthz") == ("200", [b"ok"])
    assert console.ask("/page") == ("200", [b"ok"])
    assert (console.pages.running, console.push.running, len(console.requests)) == (0, 0, 0)


def test_a_body_is_whole_before_a_place_is_taken() -> None:
    console = AdmissionConsole()
    running: list[int] = []

    class SlowBody(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            running.append(console.push.running)
            return super().read(size)

    assert console.ask("/push", b"x" * 10, **{"wsgi.input": SlowBody(b"x" * 10)}) == ("200", [b"ok"])
    assert console.application.bodies == [b"x" * 10]
    assert running == [0]


def test_a_large_body_waits_for_its_turn_but_not_a_small_one_or_one_that_is_still_arriving() -> None:
    console, statuses = AdmissionConsole(), list[str]()
    large: dict[str, Any] = {"body": b"x" * (SMALL_BODY + 1), "HTTP_AUTHORIZATION": "known"}
    console.ask("/turns", HTTP_AUTHORIZATION="known")
    arriving: dict[str, Any] = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(b"chunk")}
    waiting = threading.Thread(target=lambda: statuses.append(console.ask("/turns", **large)[0]))
    with console.turns.begin():
        waiting.start()
        wait_until(lambda: len(console.turns._waiting) == 1)
        assert console.ask("/turns", b"small") == ("200", [b"ok"])
        assert console.ask("/turns", **arriving) == ("200", [b"ok"])
        assert statuses == []
    waiting.join(30)
    assert statuses == ["200"]


def test_a_body_that_breaks_off_never_reaches_the_application() -> None:
    console = AdmissionConsole()
    assert console.ask("/push", b"x", CONTENT_LENGTH="100") == ("400", [])
    assert console.application.bodies == []
    assert (console.push.running, len(console.requests)) == (0, 0)


def test_a_streamed_answer_holds_its_place_until_it_is_closed() -> None:
    console = AdmissionConsole()
    answer = console.admission(
        {"PATH_INFO": "/streamed", "REMOTE_ADDR": "192.0.2.1", "wsgi.input": io.BytesIO()},
        lambda *given: None,
    )
    assert console.pages.running == 1
    assert list(answer) == [b"a", b"b"]
    answer.close()  # type: ignore[attr-defined]
    answer.close()  # type: ignore[attr-defined]
    assert console.pages.running == 0


def test_an_application_that_fails_gives_its_place_back() -> None:
    console = AdmissionConsole()

    class BrokenBody(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise RuntimeError

    request_environ: Environ = {"wsgi.input": BrokenBody(), "CONTENT_LENGTH": "900"}
    with pytest.raises(RuntimeError):
        console.ask("/page", **request_environ)
    assert (console.pages.running, len(console.requests)) == (0, 0)


def test_one_client_and_all_strangers_have_no_more_than_their_share_of_open_requests() -> None:
    console = AdmissionConsole(RequestLimits(requests=5, of_unknown=3, of_client=2))
    assert console.ask("/push", HTTP_AUTHORIZATION="tenant")[0] == "200"
    with console.holding("/push/held", 2, HTTP_AUTHORIZATION="tenant"):
        assert console.ask("/page", HTTP_AUTHORIZATION="tenant")[0] == "503"
        assert console.ask("/page")[0] == "200"


def test_large_bodies_of_strangers_are_not_read_ahead() -> None:
    console = AdmissionConsole()
    big = b"x" * 900
    console.admission._kinds[0] = RequestKind(("/push",), console.push, 1_000_000)  # type: ignore[index]
    samples: list[bool] = []

    class ObservedBody(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            samples.append(console.push.running > 0)
            return super().read(size)

    def push(size: int) -> None:
        body = big * (size // 900)
        console.ask("/push", body, **{"wsgi.input": ObservedBody(body), "HTTP_AUTHORIZATION": "tenant"})

    push(90_000)
    assert all(samples)
    samples.clear()
    push(90_000)  # its credential is known now
    assert not any(samples)


def test_a_large_form_with_a_file_has_separate_slots() -> None:
    console = AdmissionConsole()
    with console.holding("/held", 2):
        form = {"CONTENT_TYPE": "multipart/form-data; boundary=x"}
        assert console.ask("/upload", b"x" * 200, **form)[0] == "200"
        assert console.ask("/upload", b"x" * 20, **form)[0] == "503"


def test_no_page_of_a_client_is_refused_while_others_of_its_pages_wait() -> None:
    """Up to the limit of open requests, which holds for all kinds."""
    pages = next(kind.bulkhead for kind in request_kinds() if kind.prefixes == ("/",))
    for _ in range(pages.share):
        pages.acquire("account 1")
    waiting = [
        threading.Thread(target=pages.acquire, args=("account 1",), daemon=True)
        for _ in range(RequestLimits.of_client - pages.share)
    ]
    for thread in waiting:
        thread.start()
    wait_until(lambda: pages.queue_length == len(waiting))
    assert pages.running == pages.share
    for _ in range(RequestLimits.of_client):
        wait_until(lambda: pages.running > 0)
        pages.release("account 1")
    for thread in waiting:
        thread.join()
    assert (pages.running, pages.queue_length) == (0, 0)


def test_one_client_leaves_slots_of_questions_and_pages_to_quiet_ones() -> None:
    for name in ("mcp", "pages"):
        bulkhead = next(kind.bulkhead for kind in request_kinds() if kind.bulkhead.name == name)
        for client in ("account 1", "account 2"):
            with suppress(Busy):
                while True:
                    bulkhead.acquire(client, 0)
        assert bulkhead.running < bulkhead.size
        bulkhead.acquire("account 3", 0)

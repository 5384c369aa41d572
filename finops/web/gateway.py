"""A WSGI application behind the server's ASGI interface, which alone tells a complete body from one that broke off."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from finops.web.bodies import Receive

Scope = MutableMapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


def wsgi_environ(scope: Scope) -> Environ:
    """Return PEP 3333's environment. Header names with an underscore are left out: a client could send one that
    passes for the header of a proxy."""
    host, port = scope["server"]
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        text = value.decode("latin-1")
        separator = "; " if key == "HTTP_COOKIE" else ","
        environ[key] = f"{environ[key]}{separator}{text}" if key in environ else text
    return environ


@dataclass
class Answer:
    """The answer of a WSGI application; `start` is its start_response. `parts` is a list if it is complete."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    parts: Iterable[bytes] = ()

    def start(self, status: str, headers: list[tuple[str, str]], *exc_info: Any) -> None:
        self.status = int(status[:3])
        self.headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]

    @property
    def is_complete(self) -> bool:
        return isinstance(self.parts, list)

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    @property
    def head(self) -> dict[str, Any]:
        return {"type": "http.response.start", "status": self.status, "headers": self.headers}


def ask(application: Application, environ: Environ) -> Answer:
    answer = Answer()
    answer.parts = application(environ, answer.start)
    return answer


async def send_complete(send: Send, answer: Answer) -> None:
    await send(answer.head)
    await send({"type": "http.response.body", "body": answer.body})


def send_from_thread(send: Send, answer: Answer) -> None:
    """Send a complete answer without the event loop: two changes of thread fewer. The server takes it without waiting."""
    try:
        send_complete(send, answer).send(None)
    except StopIteration:
        return
    raise RuntimeError("The server did not take a complete answer at once.")


async def stream(threads: Executor, receive: Receive, send: Send, answer: Answer) -> None:
    """Send an answer part by part, as fast as the client reads it. It ends early if the client disconnects."""
    loop = asyncio.get_running_loop()
    gone = asyncio.ensure_future(_disconnect(receive))

    def run() -> None:
        try:
            for part in answer.parts:
                if gone.done():
                    return
                if part:
                    message = {"type": "http.response.body", "body": part, "more_body": True}
                    asyncio.run_coroutine_threadsafe(_send_part(send, message), loop).result()
        finally:
            if hasattr(answer.parts, "close"):
                answer.parts.close()

    try:
        await send(answer.head)
        await loop.run_in_executor(threads, run)
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _send_part(send: Send, message: dict[str, Any]) -> None:
    await send(message)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

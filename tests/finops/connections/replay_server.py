"""A vendor's API on this machine: a real HTTP server that replays recorded answers, and fails as vendors do."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class ReplayRequest:
    method: str
    path: str
    params: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    target: str = ""
    """Path and query as they were sent."""

    def param(self, name: str) -> str:
        return self.params.get(name, [""])[0]


@dataclass(frozen=True)
class Reply:
    """`cut` ends the connection after that share of the body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: float | None = None

    @classmethod
    def of_json(cls, value: Any, status: int = 200, **headers: str) -> Reply:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})

    def compressed(self) -> Reply:
        return Reply(self.status, gzip.compress(self.body), {**self.headers, "Content-Encoding": "gzip"})


class ReplayServer:
    """`routes` answer a path; `faults` are what the next requests get before any route does, one each."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.routes: dict[str, Callable[[ReplayRequest], Reply]] = {}
        self.faults: list[Reply] = []
        self.requests: list[ReplayRequest] = []

    def reply_to(self, request: ReplayRequest) -> Reply:
        self.requests.append(request)
        if self.faults:
            return self.faults.pop(0)
        route = self.routes.get(request.path)
        return route(request) if route else Reply.of_json({"error": {"message": "No such path."}}, 404)

    def paths(self) -> list[str]:
        return [each.path for each in self.requests]


@contextmanager
def replay_server() -> Iterator[ReplayServer]:
    server = _Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    replay = ReplayServer(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = _handler(replay)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield replay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


def _handler(replay: ReplayServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.casefold(): value for name, value in self.headers.items()}
            request = ReplayRequest(self.command, parts.path, parse_qs(parts.query), headers, body, self.path)
            self._send(replay.reply_to(request))

        do_POST = do_PUT = do_DELETE = do_GET

        def _send(self, reply: Reply) -> None:
            self.send_response_only(reply.status)
            headers = {
                "Content-Length": str(len(reply.body)),
                **reply.headers,
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if reply.cut is None:
                self.wfile.write(reply.body)
                return
            self.wfile.write(reply.body[: int(len(reply.body) * reply.cut)])
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
            """Quiet."""

    return Handler

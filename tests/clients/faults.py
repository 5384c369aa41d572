"""A server in front of the real one that fails as networks and proxies do, by a list of faults, one a request."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

FAULTS = (
    "pass",
    "refuse 429",
    "refuse 503",
    "refuse 500",
    "redirect",
    "drop",
    "lose the answer",
    "cut the answer",
    "page",
)


@dataclasses.dataclass
class FaultyProxy:
    """What it shall do with the next requests; with none left it passes them on. `keys`: their Idempotency-Keys."""

    target: str
    url: str = ""
    faults: list[str] = dataclasses.field(default_factory=list)
    keys: list[str] = dataclasses.field(default_factory=list)
    sizes: list[int] = dataclasses.field(default_factory=list)


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(target)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    proxy: FaultyProxy

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is the base class's
        return

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.proxy.keys.append(self.headers["Idempotency-Key"])
        self.proxy.sizes.append(len(body))
        fault = self.proxy.faults.pop(0) if self.proxy.faults else "pass"
        assert fault in FAULTS
        if fault.startswith("refuse"):
            self._answer(int(fault[-3:]), b"<html>busy</html>", {"Retry-After": "7"})
        elif fault == "redirect":
            self._answer(307, b"", {"Location": f"{self.proxy.target}/elsewhere"})
        elif fault == "page":
            self._answer(200, b"<html>sign in to the network</html>", {})
        elif fault != "drop":
            self._pass_on(body, fault)

    def _pass_on(self, body: bytes, fault: str) -> None:
        names = ("Authorization", "Content-Type", "Idempotency-Key")
        headers = {name: self.headers[name] for name in names}
        answer = httpx.post(self.proxy.target + self.path, content=body, headers=headers, timeout=60)
        if fault == "lose the answer":
            return
        answer_headers = {
            name: value for name, value in answer.headers.items() if name.startswith(("usage-", "retry-"))
        }
        self._answer(answer.status_code, answer.content, answer_headers, cut=fault == "cut the answer")

    def _answer(self, status: int, content: bytes, headers: dict[str, str], *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[:5] if cut else content)

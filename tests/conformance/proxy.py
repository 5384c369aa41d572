"""A proxy that adds a bearer token to each request, for clients that cannot send one.

All else goes through as it came: the method, Host and Origin, the spelling and the order of headers, the body.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

UPSTREAM_SECONDS = 30.0
OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@contextmanager
def authorizing_proxy(url: str, token: str) -> Iterator[str]:
    """The address of a proxy on localhost to the server of `url`, with the same path."""
    target = urlsplit(url)
    handler = type("Handler", (_Handler,), {"upstream": target.netloc, "token": token})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://localhost:{proxy.server_port}{target.path}"
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream: str
    token: str

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = HTTPConnection(self.upstream, timeout=UPSTREAM_SECONDS)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in OF_THE_CONNECTION:
                    upstream.putheader(name, value)
            upstream.putheader("Authorization", f"Bearer {self.token}")
            upstream.putheader("Content-Length", str(len(body)))
            upstream.endheaders(body)
            self._pass_back(upstream)
        finally:
            upstream.close()

    def _pass_back(self, upstream: HTTPConnection) -> None:
        answer = upstream.getresponse()
        body = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in OF_THE_CONNECTION:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = do_OPTIONS = do_PUT = _pass_on

    def log_message(self, *_said: object) -> None:
        """Nothing is said: the tests look at the answers."""

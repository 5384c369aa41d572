"""GET /metrics by a worker, for a machine without a web server (METRICS_LISTEN).

Of several workers the first that binds the port answers for all, since they count in the same files; when it ends, another
binds it. Gauges of the database are not included: web servers have those.
"""

from __future__ import annotations

import errno
import logging
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from typing import Final

from finops.lib.telemetry import metrics
from finops.telemetry.access import CHALLENGE, UNAUTHORIZED, is_authorized

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 5.0
CLIENT_SECONDS: Final = 5.0
"""Timeout for one read of a request. Requests are answered one after another: only Prometheus sends them."""


def start(listen: str) -> None:
    """Serve in a thread of this process. Raises ValueError as `metrics.listen_address` does."""
    address = metrics.listen_address(listen)
    threading.Thread(target=_serve, args=(address,), name="metrics endpoint", daemon=True).start()


def _serve(address: tuple[str, int]) -> None:
    while metrics.directory() is not None:
        try:
            with _Server(address) as server:
                server.serve_forever()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                logger.error("metrics: cannot listen on %s:%s: %s", *address, error)
                return
        threading.Event().wait(RETRY_SECONDS)


class _Server(TCPServer):
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        logger.warning("metrics: a request was not answered: %s", sys.exc_info()[1])


class _Handler(BaseHTTPRequestHandler):
    timeout = CLIENT_SECONDS

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self._answer(404, "text/plain", b"Not found")
        elif not is_authorized(self.headers.get("Authorization", "")):
            self._answer(401, "text/plain", UNAUTHORIZED.encode(), CHALLENGE)
        else:
            content_type, text = metrics.exposition()
            self._answer(200, content_type, text)

    def _answer(
        self, status: int, content_type: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Return a Server header without the version of Python."""
        return "finops"

    def log_message(self, *args: object) -> None:
        return

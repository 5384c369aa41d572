"""The web server's command line: the one place that says how granian is run."""

from __future__ import annotations

import resource
import sys
from typing import Final

# Threads are made when requests come, and go when idle: far more than work at once, since most of them wait for bodies
# (finops.web.requests.Room), and so health checks always find one.
THREADS: Final = 512
CONNECTIONS: Final = 4096
"""Open at once, a process. granian calls it backpressure; beyond it connections wait to be accepted."""
HEADER_MILLISECONDS: Final = 30_000
"""To read the headers of a request, and for a connection to be idle before the next."""


def command(*, host: str, port: int, processes: int = 1) -> list[str]:
    """HTTP/1.1 alone: a proxy in front speaks nothing else to it, and one HTTP/2 connection could hold 200 threads."""
    return [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--http", "1", "--no-ws"),
        *("--host", host, "--port", str(port), "--workers", str(processes)),
        *("--blocking-threads", str(THREADS), "--backpressure", str(_connections())),
        *("--http1-header-read-timeout", str(HEADER_MILLISECONDS), "--log-level", "error"),
        "finops.wsgi:application",
    ]


def _connections() -> int:
    """As many as this process may have files open, less a reserve for the lake and the database."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 1024
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(128, min(CONNECTIONS, soft // 2))

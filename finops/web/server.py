"""The web server's command line: the one place that defines how granian is run."""

from __future__ import annotations

import atexit
import http.client
import os
import resource
import socket
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from finops.heartbeat import WEB
from finops.lib.telemetry.logs import environment_configuration
from finops.supervisor import HEALTH, Backoff, Program
from finops.web import shares

CONNECTIONS: Final = 4096
"""The most open connections of a process (granian's backpressure); further connections wait to be accepted."""
ACTIVATED: Final = 3
"""The descriptor of the first socket that systemd passes: SD_LISTEN_FDS_START."""
BACKLOG: Final = 4096
"""Connections that wait to be accepted while all processes are busy or starting; the kernel may allow fewer."""
BESIDE_OTHERS: Final = "WEB_BESIDE_OTHERS"
"""Environment variable of a web process that runs together with others (finops.asgi)."""
GRANIAN_LOGGER: Final = "_granian"
ANSWER_SECONDS: Final = 10.0
HEADER_MILLISECONDS: Final = 30_000
"""Time limit for the headers of a request, and for an idle connection before its next request."""


def command(*, host: str, port: int, processes: int = 1, descriptor: int | None = None) -> list[str]:
    """Return the command line. `descriptor`: a socket that already listens (`listening_socket`) and that the program
    inherits (`pass_fds`)."""
    line = [sys.executable, "-m", "finops.web", "--host", host, "--port", str(port)]
    if descriptor is not None:
        return [*line, "--descriptor", str(descriptor)]
    return [*line, "--processes", str(processes)]


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket that does not listen yet. While web processes restart, connections wait in the kernel's
    queue as long as a process holds the socket; several processes may accept from it. Raises OSError if the address
    is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit TCP_NODELAY: a response does not wait for the acknowledgement of the one before.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def activated_socket() -> socket.socket | None:
    """Return the listening TCP socket passed by systemd, or by another program with the same protocol
    (sd_listen_fds(3)) that keeps the socket open; None without one. Raises ValueError unless it is exactly one TCP
    socket."""
    pid, count = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()):
        return None
    if count != "1":
        raise ValueError(f"One socket is expected in LISTEN_FDS, not {count or 'none'}.")
    os.set_inheritable(ACTIVATED, False)
    listener = socket.socket(fileno=ACTIVATED)
    if listener.family not in (socket.AF_INET, socket.AF_INET6) or listener.type != socket.SOCK_STREAM:
        raise ValueError("The socket of LISTEN_FDS is not TCP's.")
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def programs(
    listener: socket.socket, processes: int, environment: Mapping[str, str], url: str
) -> list[Program]:
    """Return the web processes for a supervisor, which keeps the socket open. `url` is their URL from this machine."""
    host, port = listener.getsockname()[:2]
    of_one = Program(
        "web server",
        command(host=host, port=port, descriptor=listener.fileno()),
        environment,
        answers=lambda: answers(url),
        heartbeats=(WEB, HEALTH),
        descriptors=(listener.fileno(),),
    )
    if processes == 1:
        return [of_one]
    descriptor = shares.new_file(processes)
    return [
        replace(
            of_one,
            name=f"web server {number}",
            environment={
                **environment,
                BESIDE_OTHERS: "1",
                **shares.variable(descriptor, number - 1, processes),
            },
            descriptors=(listener.fileno(), descriptor),
            backoff=Backoff(),
            last_beats={},
        )
        for number in range(1, processes + 1)
    ]


def local_url(host: str, port: int) -> str:
    """Return the URL from this machine of a server with this listening address; 0.0.0.0 and :: become the loopback
    address."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared with, not listened on
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def answers(url: str) -> bool:
    """Return whether /healthz responds."""
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - http, see above
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def serve(listener: socket.socket) -> None:
    """Serve in this process until SIGTERM; then complete the open requests and end the process."""
    host, port = listener.getsockname()[:2]
    _OneProcess(
        listener,
        "finops.asgi:application",
        address=host,
        port=port,
        interface=Interfaces.ASGINL,
        # HTTP/1.1 only: a proxy in front uses nothing else, and one HTTP/2 connection could bring 200 requests at once.
        http=HTTPModes.http1,
        websockets=False,
        loop=Loops.uvloop,
        backpressure=_connections(),
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_MILLISECONDS),
        log_level=LogLevels.error,
        log_dictconfig=log_configuration(),
    ).serve()
    # A thread may still compute for a client that has gone. When Python ends normally, such a thread aborts the process in
    # granian's code, which cannot be unwound. granian's own workers, children of multiprocessing, end in this way too.
    atexit._run_exitfuncs()
    os._exit(0)


def log_configuration() -> dict[str, Any]:
    """Return the configuration of granian's own log, in the format of all other logs."""
    lines = environment_configuration()
    return {**lines, "loggers": {**lines["loggers"], GRANIAN_LOGGER: {}}}


class _OneProcess(MPServer):
    """granian's server without its process manager, which binds a socket for each process and stops all processes
    when one stops."""

    def __init__(self, listener: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._listener = listener

    def _init_shared_socket(self) -> None:
        self._sso = self._listener
        self._shd = SocketHolder(self._listener.fileno(), False, BACKLOG)  # type: ignore[assignment,call-arg]

    def _serve(self, spawn_target: Any, target_loader: Any) -> None:
        self._init_shared_socket()
        self._start_ipc()  # type: ignore[no-untyped-call]
        self._spawn_worker(0, spawn_target, target_loader).inner.run()


def _connections() -> int:
    """Return the connection limit: the process's limit of open files, less a reserve for the lake and the database."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed_files = CONNECTIONS + 1024
    if soft < needed_files:
        soft = needed_files if hard == resource.RLIM_INFINITY else min(hard, needed_files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(128, min(CONNECTIONS, soft // 2))

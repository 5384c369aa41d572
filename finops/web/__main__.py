"""`python -m finops.web`: the web server as production runs it.

A single process serves directly. Several are separate programs, each restarted when it ends without affecting the others;
all accept from one socket, so that no connection is refused meanwhile.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import time
from types import FrameType

from finops.heartbeat import ENDS_WITH_SUPERVISOR, WEB, HeartbeatThread
from finops.lib.telemetry.logs import configure, environment_configuration
from finops.supervisor import LOOK_SECONDS, Program, Supervisor
from finops.web.server import BACKLOG, activated_socket, listening_socket, local_url, programs, serve


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m finops.web", description="Run the web server of the console."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: localhost only)")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
    parser.add_argument("--processes", type=int, default=int(os.environ.get("WEB_PROCESSES", "1")))
    parser.add_argument("--descriptor", type=int, help="of a listening socket that this process was given")
    options = parser.parse_args()
    if options.descriptor is not None:
        HeartbeatThread(WEB).start()
        serve(socket.socket(fileno=options.descriptor))
        return
    listener = activated_socket() or listening_socket(options.host, options.port)
    listener.listen(BACKLOG)
    if options.processes == 1:
        serve(listener)
    else:
        environment = {**os.environ, ENDS_WITH_SUPERVISOR: "1"}
        supervise(programs(listener, options.processes, environment, local_url(*listener.getsockname()[:2])))


def supervise(of: list[Program]) -> None:
    configure(environment_configuration())
    supervisor = Supervisor(say=logging.getLogger("finops.supervisor").warning, changed=lambda: None)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        for program in of:
            supervisor.start(program)
        while True:
            time.sleep(LOOK_SECONDS)
            supervisor.check()
    finally:
        supervisor.stop()


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()

"""`python -m finops.web`: the web server as production runs it.

A single process serves directly. Several are separate programs, each restarted when it ends without affecting the others;
all accept from one socket, so that no connection is refused meanwhile.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket

from finops.heartbeat import WEB, HeartbeatThread
from finops.lib.telemetry.logs import configure, environment_configuration
from finops.supervisor import LOOK_SECONDS, Program, StopSignals, Supervisor
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
        url = local_url(*listener.getsockname()[:2])
        supervise(programs(listener, options.processes, os.environ, url))


def supervise(of: list[Program]) -> None:
    configure(environment_configuration())
    signals = StopSignals()
    signals.install()
    say = logging.getLogger("finops.supervisor").warning
    supervisor = Supervisor(say=say, changed=lambda: None, signals=signals)
    try:
        for program in of:
            supervisor.start(program)
        while True:
            signals.pause(LOOK_SECONDS)
            supervisor.check()
    except KeyboardInterrupt:
        return
    finally:
        supervisor.stop()


if __name__ == "__main__":
    main()

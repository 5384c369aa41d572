"""`python -m finops.web`: the web server as production runs it."""

from __future__ import annotations

import argparse
import os

from finops.web.server import command


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m finops.web", description="Serve the console.")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine alone)"
    )
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
    parser.add_argument("--processes", type=int, default=int(os.environ.get("WEB_PROCESSES", "1")))
    given = parser.parse_args()
    line = command(host=given.host, port=given.port, processes=given.processes)
    os.execv(line[0], line)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()

"""A real Spark Connect server: Sail, in a separate process, as a cluster of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

PROGRAM = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer(ip="127.0.0.1", port=int(sys.argv[1]))
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def sail_server(mode: str = "local-cluster", port: int = 0) -> Iterator[str]:
    """Yield the server's address, `sc://…`. `mode` is Sail's: `local`, or `local-cluster`, with a driver and workers
    that exchange data."""
    with sail_process(mode, port) as (address, _process):
        yield address


@contextmanager
def sail_process(
    mode: str = "local-cluster", port: int = 0, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Yield the address of a server and its process, which runs the driver and the workers; `settings` are additional
    environment variables."""
    environment = {
        **os.environ,
        **(settings or {}),
        "SAIL_MODE": mode,
        "RUST_LOG": "error",
        "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "2",
    }
    command = [sys.executable, "-c", PROGRAM, str(port)]
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"sc://127.0.0.1:{int(process.stdout.readline())}", process
        finally:
            process.kill()

"""The processes of a test run: those whose environment names its folder, and their descendants.

`python run_processes.py SERVER FOLDER …` is each run's watcher: when its input closes, which it does however the run ends, it stops
PostgreSQL (its process id, or 0), ends what the run left behind, and removes the folders. The first of them is the run's.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import suppress

import psutil

POSTGRES_SECONDS = 60


def left_behind(folder: str) -> list[psutil.Process]:
    """Return the run's processes other than this one. What a process adds to its own environment later is not seen, so that the
    process of the run itself is none of them."""
    found: set[psutil.Process] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(folder in value for value in process.environ().values()):
                found |= {process, *process.children(recursive=True)}
    return [process for process in found if process.pid != os.getpid()]


def _stop_server(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        server = psutil.Process(pid)
        server.send_signal(signal.SIGQUIT)
        server.wait(POSTGRES_SECONDS)


def main() -> None:
    server, *folders = sys.argv[1:]
    sys.stdin.buffer.read()
    if int(server):
        _stop_server(int(server))
    # Again, since a process may start another one meanwhile. One that has ended may wait for its parent to ask for its status.
    while processes := left_behind(folders[0]):
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, 0.1)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

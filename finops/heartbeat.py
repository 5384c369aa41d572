"""Heartbeats of a program to the supervisor that started it: one line a second through a pipe.

A pipe works on a full disk, needs no clock, and ends with the process. A program that was not started by a supervisor has
no pipe and sends none, unless HEARTBEAT_FILE names a file: its modification time is then that of the last heartbeat, for
the probe of a container. Does not need Django.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

PIPE: Final = "HEARTBEAT_FD"
"""Environment variable: the descriptor to write to."""
BEAT_SECONDS: Final = 1.0
WEB: Final = "web"
WORKER: Final = "worker"
BEAT: Final = "beat"


def beat(name: str) -> None:
    """Send a heartbeat of `name` to the supervisor, if there is one. Never waits, never fails."""
    if file := os.environ.get("HEARTBEAT_FILE"):
        with suppress(OSError):
            Path(file).touch()
    descriptor = os.environ.get(PIPE, "")
    if not descriptor:
        return
    try:
        os.write(int(descriptor), f"{name}\n".encode())
    except BlockingIOError:
        # No process has read for hours: the supervisor is stopped. It reads these first when it continues.
        return
    except BrokenPipeError:
        # Where the kernel has not ended it with its supervisor (finops.processes.tie).
        del os.environ[PIPE]
        os.kill(os.getpid(), signal.SIGTERM)
    except OSError:
        del os.environ[PIPE]


def _is_told() -> bool:
    return PIPE in os.environ or "HEARTBEAT_FILE" in os.environ


class HeartbeatThread(threading.Thread):
    """Sends a heartbeat each second through `through`: a loop of the program calls the function it is given in its next
    iteration.

    Without a loop (`through` is None) the heartbeat means that the process gets processor time.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name=f"heartbeat of {name}", daemon=True)
        self._name = name
        self._stopped = threading.Event()
        self.through: Callable[[Callable[[], None]], object] | None = None

    def run(self) -> None:
        while _is_told() and not self._stopped.wait(BEAT_SECONDS):
            through = self.through
            if through is None:
                self._beat()
            else:
                through(self._beat)

    def stop(self) -> None:
        self._stopped.set()

    def _beat(self) -> None:
        beat(self._name)

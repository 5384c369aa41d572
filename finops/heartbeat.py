"""What a program tells the supervisor that started it: that it is not stuck. One line a second through a pipe.

A pipe works on a full disk, needs no clock, and ends with the process. Started by anything else than a supervisor, a
program has no pipe and tells nobody, unless HEARTBEAT_FILE names a file: its time is then that of the last heartbeat, for
the probe of a container. Nothing of Django is needed here.
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
"""Environment: the descriptor to write to."""
ENDS_WITH_SUPERVISOR: Final = "HEARTBEAT_ENDS"
"""Environment: set where a program shall end when its supervisor has gone."""
BEAT_SECONDS: Final = 1.0
WEB: Final = "web"
WORKER: Final = "worker"
BEAT: Final = "beat"


def beat(name: str) -> None:
    """Tell the supervisor, if there is one, that `name` moves on. Never waits, never fails."""
    if file := os.environ.get("HEARTBEAT_FILE"):
        with suppress(OSError):
            Path(file).touch()
    descriptor = os.environ.get(PIPE, "")
    if not descriptor:
        return
    try:
        os.write(int(descriptor), f"{name}\n".encode())
    except BlockingIOError:
        # Nobody has read for hours: the supervisor is stopped. It reads these first when it goes on.
        return
    except BrokenPipeError:
        del os.environ[PIPE]
        if os.environ.get(ENDS_WITH_SUPERVISOR):
            os.kill(os.getpid(), signal.SIGTERM)
    except OSError:
        del os.environ[PIPE]


def _is_told() -> bool:
    return PIPE in os.environ or "HEARTBEAT_FILE" in os.environ


class HeartbeatThread(threading.Thread):
    """Beats each second by way of `through`: a loop of the program calls the function it is given, as soon as it turns.

    Without a loop to turn (`through` is None) it says that the process has its turns at the interpreter.
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

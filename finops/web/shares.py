"""An even share of the connections for each web process.

All of them accept from one socket, so no connection waits for a process that ends or hangs. But the first that wakes may
take every connection of a moment, and clients keep theirs. So each process notes how many it has where the others see it;
one that has more than its share says `Connection: close` in as many answers, and those clients come again to whoever is
quicker. A client whose connection stays notices nothing; one that is sent away connects once more.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "WEB_SHARES"
"""Environment: descriptor of the file, number of this process, number of processes."""
CURRENT_SECONDS: Final = 5.0
"""A process that has noted nothing for so long takes no connections."""
_SLOT: Final = struct.Struct("=dq")


def new_file(processes: int) -> int:
    """A descriptor of a file that the processes share. It has no name, and goes with them."""
    with tempfile.TemporaryFile() as file:
        file.truncate(_SLOT.size * processes)
        return os.dup(file.fileno())


def variable(descriptor: int, number: int, processes: int) -> dict[str, str]:
    return {VARIABLE: f"{descriptor}:{number}:{processes}"}


class ConnectionShares:
    """`give_up` is asked for each answer, by any thread."""

    def __init__(self, descriptor: int, number: int, processes: int) -> None:
        self._file = mmap.mmap(descriptor, _SLOT.size * processes)
        self._number, self._processes = number, processes
        self._surplus = 0
        self._lock = threading.Lock()

    def note(self, connections: int) -> None:
        """How many this process has; what is above its share is given up with the next answers."""
        now = time.monotonic()
        _SLOT.pack_into(self._file, self._number * _SLOT.size, now, connections)
        counts = [count for moment, count in self._slots() if now - moment < CURRENT_SECONDS]
        fair = -(-sum(counts) // len(counts))
        with self._lock:
            self._surplus = max(0, connections - fair)

    def give_up(self) -> bool:
        """Whether the client of this answer shall connect again."""
        if not self._surplus:
            return False
        with self._lock:
            self._surplus -= self._surplus > 0
            return True

    def _slots(self) -> list[tuple[float, int]]:
        return [_SLOT.unpack_from(self._file, each * _SLOT.size) for each in range(self._processes)]


def own(environment: Mapping[str, str] = os.environ) -> ConnectionShares | None:
    """Those of this process; None where it is the only one."""
    text = environment.get(VARIABLE, "")
    return ConnectionShares(*(int(part) for part in text.split(":"))) if text else None

"""An even share of the connections for each web process.

All processes accept from one socket, so no connection waits for a process that ends or hangs. But one process may
accept many connections at once, and clients keep them open. So each process publishes its count to the others. A
process above its share sends `Connection: close` with as many responses as it has surplus connections, and those
clients reconnect to the process that accepts first. Other clients are not affected.
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
"""Environment variable: descriptor of the file, number of this process, number of processes."""
CURRENT_SECONDS: Final = 5.0
"""A process whose count is older than this gets no share."""
_SLOT: Final = struct.Struct("=dq")


def new_file(processes: int) -> int:
    """Return a descriptor of a file that the processes share. The file has no name, and is removed when they end."""
    with tempfile.TemporaryFile() as file:
        file.truncate(_SLOT.size * processes)
        return os.dup(file.fileno())


def variable(descriptor: int, number: int, processes: int) -> dict[str, str]:
    return {VARIABLE: f"{descriptor}:{number}:{processes}"}


class ConnectionShares:
    """The connection counts of all processes. `give_up` is called for each response, from any thread."""

    def __init__(self, descriptor: int, number: int, processes: int) -> None:
        self._file = mmap.mmap(descriptor, _SLOT.size * processes)
        self._number, self._processes = number, processes
        self._surplus = 0
        self._lock = threading.Lock()

    def note(self, connections: int) -> None:
        """Publish this process's count; connections above its share are closed with the next responses."""
        now = time.monotonic()
        _SLOT.pack_into(self._file, self._number * _SLOT.size, now, connections)
        counts = [count for moment, count in self._slots() if now - moment < CURRENT_SECONDS]
        fair = -(-sum(counts) // len(counts))
        with self._lock:
            self._surplus = max(0, connections - fair)

    def give_up(self) -> bool:
        """Return whether this response closes its connection, so that the client reconnects."""
        if not self._surplus:
            return False
        with self._lock:
            self._surplus -= self._surplus > 0
            return True

    def _slots(self) -> list[tuple[float, int]]:
        return [_SLOT.unpack_from(self._file, each * _SLOT.size) for each in range(self._processes)]


def own(environment: Mapping[str, str] = os.environ) -> ConnectionShares | None:
    """This process's count; None if it is the only process."""
    text = environment.get(VARIABLE, "")
    return ConnectionShares(*(int(part) for part in text.split(":"))) if text else None

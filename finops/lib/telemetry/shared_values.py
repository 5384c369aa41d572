"""Values of prometheus_client in the files of a slot, written at a third of the cost of the library's own.

Imported where metrics are on, because it imports prometheus_client.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from prometheus_client.values import MultiProcessValue

from finops.lib.telemetry import slots

_packed: Final = struct.Struct("dd").pack
"""Value and timestamp as the library's files have them."""


def value_class(identifier: Callable[[], int]) -> type[Any]:
    """Return the class of values in the files of `identifier`.

    The library asks for the process at each count, by a system call, and holds one lock for all values. Here a count
    compares two numbers, and holds the lock of its value.
    """
    library: type[Any] = MultiProcessValue(identifier)  # type: ignore[no-untyped-call]

    class SharedValue(library):  # type: ignore[misc]
        """A float in this process's files."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._use_file()

        def inc(self, amount: float) -> None:
            if self._forks != slots.forks():
                self.get()  # takes the files of the child
                self._use_file()
            with self._own_lock:
                self._value += amount
                self._map[self._begin : self._end] = _packed(self._value, 0.0)

        def _use_file(self) -> None:
            """Write to the current file, with a new lock: the parent of a fork may have held the other for ever."""
            self._forks, self._own_lock = slots.forks(), Lock()
            # The map stays valid where the library maps a larger one: both show the same file.
            self._map, self._begin = self._file._m, self._file._positions[self._key]
            self._end = self._begin + 16

    return SharedValue

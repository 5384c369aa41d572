"""Collects records of calls while requests run, and writes them a moment later in a thread of its own. Receipts of answers
have another recorder (`finops/receipts/records.py`).

A record costs the call microseconds; the statement that stores it, with all others of the same half second, runs
separately. Unwritten records are lost with `kill -9` or the machine, never at a normal exit. While the database is
unavailable records wait, at most MAX_PENDING of them; later ones are dropped, and their number is logged.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.util import Finalize
from typing import Generic, Protocol, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from finops.activity.calls import store

MAX_PENDING = 5_000
BATCH = 500
SECONDS_AWAY = 5.0

log = logging.getLogger(__name__)


class Record(Protocol):
    """A record: `name` is the tool's or prompt's."""

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Record)


class Recorder(Generic[R]):
    """The recorder of one kind of records in this process. `seconds` is how long records are collected; 0: only `flush`
    writes. `noun` is the name of a record in the log."""

    def __init__(
        self,
        store: Callable[[Sequence[R]], object],
        seconds: Callable[[], float],
        *,
        noun: str = "call",
        max_pending: int = MAX_PENDING,
    ) -> None:
        self._store = store
        self._seconds = seconds
        self._noun = noun
        self._max_pending = max_pending
        self._waiting: deque[R] = deque()
        self._dropped = 0
        self._woken = threading.Event()
        self._ended = threading.Event()
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, call: R) -> None:
        """Queue the record for the writer. Never waits and never raises."""
        if len(self._waiting) >= self._max_pending:
            self._dropped += 1
            return
        self._waiting.append(call)
        if not self._woken.is_set():
            self._wake_writer()

    def _wake_writer(self) -> None:
        if self._seconds() <= 0:
            return
        with self._starting:
            self._woken.set()
            # A thread does not come along into a forked process.
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._run, name=f"assistant-{self._noun}s", daemon=True)
            self._thread.start()
            # Not atexit, which the children of multiprocessing, such as granian's workers, leave out.
            Finalize(None, self.end, exitpriority=10)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._woken.wait()
            self._ended.wait(self._seconds())
            self._woken.clear()
            if not self._flush_in_thread():
                self._ended.wait(SECONDS_AWAY)
                self._woken.set()

    def _flush_in_thread(self) -> bool:
        try:
            return self.flush()
        except Exception:
            log.exception("%ss of assistants could not be written", self._noun)
            return False
        finally:
            connection.close()

    def flush(self) -> bool:
        """Write the waiting records, with this thread's connection. Returns False when the database is unavailable; then
        they stay queued."""
        with self._writing:
            while self._waiting:
                batch = [self._waiting[place] for place in range(min(BATCH, len(self._waiting)))]
                try:
                    self._store_each_possible(batch)
                except (OperationalError, InterfaceError) as error:
                    log.warning(
                        "%d %ss of assistants wait for the database: %s",
                        len(self._waiting),
                        self._noun,
                        error,
                    )
                    return False
                for _ in batch:
                    self._waiting.popleft()
            self._log_dropped_calls()
        return True

    def _store_each_possible(self, batch: Sequence[R]) -> None:
        """Store records one by one: a record that the database refuses is dropped without losing others."""
        try:
            self._store(batch)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            if len(batch) == 1:
                log.exception("a %s of %s could not be recorded", self._noun, batch[0].name)
                return
            for call in batch:
                self._store_each_possible([call])

    def _log_dropped_calls(self) -> None:
        dropped_calls, self._dropped = self._dropped, 0
        if dropped_calls:
            log.warning(
                "%d %ss of assistants were not recorded: more than %d waited",
                dropped_calls,
                self._noun,
                self._max_pending,
            )

    def forget(self) -> None:
        """Drop waiting records: between tests."""
        self._waiting.clear()
        self._dropped = 0

    def end(self) -> None:
        """Write the remaining records at a normal exit of the process."""
        self._ended.set()
        self._woken.set()
        self._flush_in_thread()


recorder = Recorder(store, lambda: float(settings.ACTIVITY_WRITE_SECONDS))

"""Fetches a month in a child process (`finops.lib.child_process`), which is killed from outside if it hangs, is too
slow or takes too much memory, and within a second if a person cancels the sync.

The process has access neither to the account nor to the database: it gets the connector and its config, and writes
files and a result. It counts received bytes in a file that the sync reads every second.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

import msgspec
from django.conf import settings

from finops.connections.connector import (
    BillMonth,
    Connector,
    ConnectorConfig,
    Fetch,
    SourceError,
    SourceUnavailable,
)
from finops.connections.services.child_answers import ChildAnswer, answer_of
from finops.connections.transports.page_cache import use_page_cache
from finops.costs.focus.normalise import FocusFile
from finops.lib import child_process
from finops.lib.child_process import ChildOutcome, ChildResult

_COUNT_BYTES: Final = 8
_ATTEMPTS: Final = 2
"""Attempts for a process that dies, for example by the kernel's OOM killer."""


def fetch_in_child(
    connector: Connector[Any],
    config: ConnectorConfig,
    month: BillMonth,
    fetch: Fetch,
    *,
    name: str,
    deadline: float,
    pages: Path | None = None,
) -> list[FocusFile]:
    """Run `Connector.fetch`. `fetch.progress` is called every second with the new bytes, and raises to end the sync;
    the process, named `name`, is then killed, as at the deadline (`time.monotonic()`).

    Raises MonthConflict and UserError as the connector does; SourceUnavailable if no byte arrived for
    SYNC_STALL_SECONDS; and SourceError if the process took too much memory, or died twice.
    """
    for attempt in range(_ATTEMPTS):
        watch = _FetchWatch(fetch)
        result = child_process.run(
            f"{__name__}.fetch_to_folder",
            connector,
            config,
            month,
            fetch.folder,
            pages,
            name=name,
            deadline=deadline,
            should_continue=watch.should_continue,
        )
        fetch.progress(0)  # raises if the time limit is reached
        if result.end is not ChildOutcome.DIED or attempt == _ATTEMPTS - 1:
            break
    if result.end is not ChildOutcome.DONE:
        raise _error_of_end(result)
    watch.should_continue()
    answer = ChildAnswer.read(_answer_path(fetch.folder))
    fetch.notes += answer.notes
    return [FocusFile(Path(path), name) for path, name in answer.or_raise().files]


class _FetchWatch:
    """Watches the number of received bytes."""

    def __init__(self, fetch: Fetch) -> None:
        self._count, self._progress = _count_path(fetch.folder), fetch.progress
        self._bytes, self._since = 0, time.monotonic()
        self._count.unlink(missing_ok=True)

    def should_continue(self) -> bool:
        """Return whether bytes arrived recently. Raises the errors of `progress`."""
        now, count = time.monotonic(), self._read()
        self._progress(count - self._bytes)
        if count != self._bytes:
            self._bytes, self._since = count, now
        return now - self._since < settings.SYNC_STALL_SECONDS

    def _read(self) -> int:
        try:
            return int.from_bytes(self._count.read_bytes()[:_COUNT_BYTES])
        except FileNotFoundError:
            return 0


def _error_of_end(result: ChildResult) -> SourceError:
    if result.end is ChildOutcome.CANCELED:
        minutes = f"{settings.SYNC_STALL_SECONDS / 60:g}"
        return SourceUnavailable(
            f"No data arrived for {minutes} minutes, so the fetch was stopped. The next sync tries again. If it fails again, check "
            "the provider's status, or export fewer and smaller files."
        )
    if result.end is ChildOutcome.MEMORY:
        limit = child_process.memory_limit() >> 20
        return SourceError(
            f"The fetch was stopped because it took more than {limit:,} MB of memory. Export smaller files or pages, or ask the operator "
            "to raise IMPORT_MEMORY_BYTES."
        )
    return SourceError(f"The fetch process stopped ({result.cause}). The next sync tries again.")


def _answer_path(folder: Path) -> Path:
    return folder.with_suffix(".answer")


def _count_path(folder: Path) -> Path:
    return folder.with_suffix(".bytes")


def fetch_to_folder(
    connector: Connector[Any],
    config: ConnectorConfig,
    month: BillMonth,
    folder: Path,
    pages: Path | None = None,
) -> None:
    """Entry point of the child process: fetch, and write the result beside the folder."""
    _answer_path(folder).unlink(missing_ok=True)
    count = os.open(_count_path(folder), os.O_WRONLY | os.O_CREAT, 0o600)
    total = 0

    def progress(more: int) -> None:
        nonlocal total
        total += more
        os.pwrite(count, total.to_bytes(_COUNT_BYTES), 0)

    fetch = Fetch(folder, progress)

    def files() -> ChildAnswer:
        fetched = connector.fetch(config, month, fetch)
        return ChildAnswer(files=[(str(each.path), each.name) for each in fetched])

    with use_page_cache(pages):
        answer = answer_of(files, "fetch")
    msgspec.structs.replace(answer, notes=fetch.notes).write(_answer_path(folder))

"""Produce items one step ahead in a thread, so that reading and writing use two cores."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

T = TypeVar("T")
_WAIT_SECONDS = 0.1


def prefetch(
    items: Iterator[T], waiting: int = 2, *, on_stop: Callable[[], None] = lambda: None
) -> Generator[T]:
    """Yield the items in order, producing up to `waiting` and one more ahead; an error is raised at its item.

    `items` runs in its own thread and must not use the database. It is closed when the caller stops early; `on_stop`
    is called before that thread is joined, to end any wait inside it.
    """
    buffer: queue.Queue[tuple[T | None, BaseException | None, bool]] = queue.Queue(waiting)
    stopped = threading.Event()
    thread = threading.Thread(target=_fill, args=(items, buffer, stopped), daemon=True)
    thread.start()
    try:
        yield from _drain(buffer)
    finally:
        stopped.set()
        on_stop()
        thread.join()


def _drain(buffer: queue.Queue[tuple[T | None, BaseException | None, bool]]) -> Iterator[T]:
    while True:
        item, error, ended = buffer.get()
        if error is not None:
            raise error
        if ended or item is None:
            return
        yield item
        item = None  # frees this item while waiting for the next


def _fill(
    items: Iterator[T],
    buffer: queue.Queue[tuple[T | None, BaseException | None, bool]],
    stopped: threading.Event,
) -> None:
    try:
        for item in items:
            if not _put(buffer, (item, None, False), stopped):
                break
        else:
            _put(buffer, (None, None, True), stopped)
    except BaseException as error:  # noqa: BLE001 it is raised in the thread that asked
        _put(buffer, (None, error, False), stopped)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()


def _put(
    buffer: queue.Queue[tuple[T | None, BaseException | None, bool]],
    item: tuple[T | None, BaseException | None, bool],
    stopped: threading.Event,
) -> bool:
    """Return whether the item was queued before the caller stopped."""
    while not stopped.is_set():
        try:
            buffer.put(item, timeout=_WAIT_SECONDS)
        except queue.Full:
            continue
        return True
    return False

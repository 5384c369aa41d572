"""Work with untrusted files in a child process with a memory limit, so that no file can end the worker.

The children are forked from a server that has everything imported already (`finops.child_server`): one costs 30 ms where a
new Python would cost 2.3 s of CPU. The server starts with the first child, stays, and holds 200 MB, most of them shared
with its children.

A child's memory is limited in three ways, because none is enough alone. Its parent checks the resident memory every 50 ms
and kills the child above the limit. RLIMIT_DATA makes larger allocations fail before they are used; RLIMIT_AS would count
mapped files and a gigabyte that the allocator reserves and does not use. If the machine runs out of memory all the same,
the kernel's OOM killer takes the child first.
"""

from __future__ import annotations

import ctypes
import enum
import logging
import math
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final

import django
from django.apps import apps
from django.conf import settings
from django.db import connection, connections
from django.utils.module_loading import import_string

from finops.lib.call_stack import in_one_chunk
from finops.lib.memory import limit_lake_memory
from finops.processes import machine_memory

logger = logging.getLogger(__name__)

SERVER: Final = "finops.child_server"
POLL_SECONDS: Final = 0.05
CANCEL_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks whether the work is still wanted; each may be a query."""

KILL_SECONDS: Final = 5.0
"""Seconds to wait until the kernel has ended a killed child."""

MIN_MEMORY: Final = 768 * 2**20
MAX_MEMORY: Final = 2 * 2**30
_LAKE_SHARE: Final = 4
"""The part of a child's memory that its lake queries may use."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

_forkserver = multiprocessing.get_context("forkserver")
_lock = threading.Lock()
"""Held around each start and each check of a child: two threads that check one child would take its exit code from each
other."""


class ChildOutcome(enum.Enum):
    DONE = "done"
    MEMORY = "memory"
    """The child took more memory than it may."""
    TIME = "time"
    """The child took longer than it may."""
    CANCELED = "ended"
    """The child's work was no longer wanted."""
    DIED = "died"
    """The child ended by itself, by an error or a signal."""


@dataclass(frozen=True)
class ChildResult:
    end: ChildOutcome
    code: int
    """The exit code; -9 for signal 9."""
    peak_bytes: int
    """The highest resident memory that a check saw."""

    @property
    def cause(self) -> str:
        return f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


@dataclass
class _Child:
    process: ForkServerProcess
    end: ChildOutcome = ChildOutcome.DIED
    peak: int = 0

    def kill(self, end: ChildOutcome) -> None:
        self.end = end
        self.process.kill()


def memory_limit() -> int:
    """The resident memory that a child may use, in bytes: IMPORT_MEMORY_BYTES, else a quarter of the memory of the machine
    or container, between 768 MB and 2 GB."""
    if settings.IMPORT_MEMORY_BYTES:
        return int(settings.IMPORT_MEMORY_BYTES)
    return max(MIN_MEMORY, min(MAX_MEMORY, machine_memory() // 4))


def run(
    function: str,
    *arguments: Any,
    name: str,
    memory: int | None = None,
    deadline: float = math.inf,
    should_continue: Callable[[], bool] = lambda: True,
) -> ChildResult:
    """Call the function of this dotted path in a child process and wait until the child has ended.

    The child, a process of this `name`, is killed when it holds more than `memory` bytes (`memory_limit`), at the
    `deadline` (`time.monotonic()`), when `should_continue`, called once a second, is false, and when this process dies. The
    function's return value is lost; an exception is logged, and the ending then has exit code 1.
    """
    memory = memory or memory_limit()
    process = _forkserver.Process(
        target=_work, args=(function, arguments, _parent_settings(memory), memory), name=name, daemon=True
    )
    child = _Child(process)
    with _lock:
        _forkserver.set_forkserver_preload([SERVER])
        process.start()
    try:
        code = _watch(child, memory, deadline, should_continue)
    except BaseException:
        child.kill(ChildOutcome.CANCELED)
        wait([process.sentinel], KILL_SECONDS)  # its output directory is removed next
        raise
    result = ChildResult(ChildOutcome.DONE if code == 0 else child.end, code, child.peak)
    if result.end not in (ChildOutcome.DONE, ChildOutcome.CANCELED):
        logger.warning("children: %s ended: %s, %s", name, result.end.value, result.cause)
    return result


def _watch(child: _Child, memory: int, deadline: float, should_continue: Callable[[], bool]) -> int:
    """Watch the child until it ends and return its exit code."""
    last_check = time.monotonic()
    while True:
        wait([child.process.sentinel], POLL_SECONDS)
        with _lock:
            code = child.process.exitcode
        if code is not None:
            return code
        resident = _resident(child.process.pid or 0)
        child.peak = max(child.peak, resident)
        if resident > memory:
            child.kill(ChildOutcome.MEMORY)
        elif time.monotonic() >= deadline:
            child.kill(ChildOutcome.TIME)
        elif time.monotonic() - last_check >= CANCEL_CHECK_SECONDS:
            last_check = time.monotonic()
            if not should_continue():
                child.kill(ChildOutcome.CANCELED)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _parent_settings(memory: int) -> dict[str, Any]:
    """The parent's directory and settings, for the child: they may have changed since the server started."""
    return {
        "database": connection.settings_dict["NAME"],
        "VAR_DIR": settings.VAR_DIR,
        "LAKE_URL": settings.LAKE_URL,
        "LAKE_MEMORY_BYTES": memory // _LAKE_SHARE,
    }


def _work(function: str, arguments: tuple[Any, ...], parent_settings: Mapping[str, Any], memory: int) -> None:
    """Run the function; called in the child."""
    _end_with_parent()
    _show_name(multiprocessing.current_process().name)
    _limit(memory)
    if not apps.ready:  # if the fork server did not find the module
        django.setup()
    for setting, value in parent_settings.items():
        if setting == "database":
            connections.databases["default"]["NAME"] = value
        else:
            setattr(settings, setting, value)
    limit_lake_memory(settings.LAKE_MEMORY_BYTES)
    try:
        in_one_chunk(import_string(function))(*arguments)
    finally:
        connections.close_all()


def _end_with_parent() -> None:
    # The process that forked this is the server, which in turn ends with its last child.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_kill_after_parent, daemon=True).start()
    # Both are sent to a whole group; the parent decides whether the work continues.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _kill_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


def _show_name(name: str) -> None:
    """Set the process name in `ps` and `top`, which show 15 bytes."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def _limit(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(OSError, ValueError):
        reserved = next(
            int(line.split()[1]) * 1024
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmData")
        )
        resource.setrlimit(resource.RLIMIT_DATA, (reserved + memory, reserved + memory))

"""Processor time of processes. Unlike a rate, it hardly depends on other load."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from django.db import connection

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the processor seconds of a process, its ended children, and its running children, recursively.

    Returns 0 for a process that has ended: its time is included in its parent, which must be read after its children.
    """
    try:
        of_children = sum(map(cpu_seconds, children(pid)))
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS + of_children


def children(pid: int) -> list[int]:
    pids: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended
            pids += map(int, (task / "children").read_text().split())
    return pids


def postmaster() -> int:
    """The process of which every backend is a child."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = (cursor.fetchone() or (0,))[0]
    return int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])


def web_server(port: int | None = None) -> int:
    """Return the web server that this process started (finops.web, or granian alone); if several, the one at a port."""
    for child in children(os.getpid()):
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if {b"granian", b"finops.web"} & set(words) and port in (None, _port_of(words)):
            return child
    raise RuntimeError("no web server of ours runs")


def _port_of(words: list[bytes]) -> int:
    return int(words[words.index(b"--port") + 1])

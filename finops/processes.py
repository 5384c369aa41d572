"""Processes of this machine: telling one from a later one with the same number, and ending them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path


def process_name(pid: int) -> str:
    """The name of the program a process runs, or an empty string when there is no such process."""
    comm = Path(f"/proc/{pid}/comm")
    if comm.exists():
        return comm.read_text().strip()
    return Path(_ps(pid, "comm=")).name


def started_at(pid: int) -> str:
    """When a process began, as text to compare only; empty when there is no such process.

    With the number it names one process for good: numbers are used again, also after the machine restarts.
    """
    stat, boot = Path(f"/proc/{pid}/stat"), Path("/proc/sys/kernel/random/boot_id")
    if not boot.exists():
        return _ps(pid, "lstart=")
    try:
        # The name in brackets may hold spaces; the start time is the 20th field after it (proc(5)).
        after_name = stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if after_name[0] == "Z" else f"{boot.read_text().strip()}:{after_name[19]}"


def group_alive(leader: int) -> bool:
    """Whether any process of the group is left. A zombie still counts."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a whole group; a group that has ended meanwhile is fine."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return


def end_group(leader: int, *, patience: float) -> None:
    """End a group that is not our child: ask, wait `patience` seconds, then kill."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        signal_group(leader, number)
        deadline = time.monotonic() + patience
        while group_alive(leader) and time.monotonic() < deadline:
            time.sleep(0.05)
        if not group_alive(leader):
            return


def _ps(pid: int, column: str) -> str:
    done = subprocess.run(["ps", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()

"""Processes of this machine: identify one although process ids are reused, and end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ZOMBIE = "Z"


def process_name(pid: int) -> str:
    """The program name of a process, or an empty string when there is no such process."""
    comm = Path(f"/proc/{pid}/comm")
    if comm.exists():
        return comm.read_text().strip()
    return Path(_ps(pid, "comm=")).name


def cores() -> int:
    """Processors that this process may use: the quota in a container, at least one."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    quota = Path("/sys/fs/cgroup/cpu.max")
    if quota.is_file():
        microseconds, period = quota.read_text().split()
        if microseconds.isdigit():
            count = min(count, int(microseconds) // int(period))
    return max(1, count)


def machine_memory() -> int:
    """Return the memory of the machine or the container, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return total


def start_time(pid: int) -> str:
    """The start time of a process, as text for comparison only; empty when there is no such process.

    Together with the process id it is unique: ids are reused, also after the machine restarts.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    if not boot.exists():
        return _ps(pid, "lstart=")
    fields = _stat(Path(f"/proc/{pid}"))
    return f"{boot.read_text().strip()}:{fields[19]}" if fields and fields[0] != ZOMBIE else ""


def is_group_alive(leader: int) -> bool:
    """Whether any process of the group still runs. A zombie does not count: the first process of a container often waits
    for none of its children."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not Path("/proc/self/stat").exists():
        return True
    members = (_stat(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit())
    return any(fields[2] == str(leader) and fields[0] != ZOMBIE for fields in members if fields)


def tie(command: Sequence[str], number: signal.Signals, user: tuple[int, int] | None = None) -> Sequence[str]:
    """The command line of a program that Linux sends `number` when this process ends, however it ends. `user`: ids of the user and
    group that it runs as, else this one's. Start it in the main thread: what counts is the end of the thread that starts it.

    A small Python becomes the program (`finops/tied_program.py`), since a `preexec_fn` may block in a process with threads.
    """
    ids = ("", "") if user is None else map(str, user)
    launcher = Path(__file__).with_name("tied_program.py")
    return [sys.executable, "-I", "-S", str(launcher), str(os.getpid()), str(int(number)), *ids, *command]


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a whole group; a group that has ended meanwhile is no error."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return


def end_groups(leaders: Sequence[int], *, patience: float) -> None:
    """End groups that are not children of this process: SIGTERM to all, wait `patience` seconds, then kill."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for leader in leaders:
            signal_group(leader, number)
        deadline = time.monotonic() + patience
        while any(map(is_group_alive, leaders)) and time.monotonic() < deadline:
            time.sleep(0.05)
        leaders = [leader for leader in leaders if is_group_alive(leader)]


def _stat(process: Path) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may hold spaces: state, parent, group … (proc(5))."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _ps(pid: int, column: str) -> str:
    completed = subprocess.run(
        ["ps", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return completed.stdout.strip()

"""What processes hold in memory, and whether it grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.cpu import children
from benchmarks.table import Row


def megabytes(pid: int) -> float:
    """Of a process and all beneath it. What several share (PostgreSQL's buffers) counts once; one that is gone, 0."""
    with suppress(FileNotFoundError, ProcessLookupError):
        of_children = sum(map(megabytes, children(pid)))
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return of_children + sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return 0.0


def growth(action: Callable[[], object]) -> float:
    """By how many megabytes this process grows at most while it does something."""
    Path("/proc/self/clear_refs").write_text("5")  # the most ever held is what is held now
    before = _status("VmHWM")
    action()
    return _status("VmHWM") - before


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def thirds(looks: Mapping[str, Sequence[float]]) -> list[Row]:
    """A row a process: the median of each third of the looks at it, the most, the last third as a share of the one
    before. The first third warms up: caches fill, and what waits in the inbox until the worker is there is read."""
    return [_thirds(name, values) for name, values in looks.items()]


def _thirds(name: str, looks: Sequence[float]) -> Row:
    first, middle, last = (
        median(looks[at * len(looks) // 3 : (at + 1) * len(looks) // 3]) for at in range(3)
    )
    return {
        "memory, MB": name,
        "first third": round(first),
        "middle third": round(middle),
        "last third": round(last),
        "at most": round(max(looks)),
        "last of middle": last / middle,
    }

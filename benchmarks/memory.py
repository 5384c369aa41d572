"""Memory of processes and its growth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.cpu import children
from benchmarks.table import Row


def megabytes(pid: int) -> float:
    """Return the megabytes of a process and its descendants. Shared memory (PostgreSQL's buffers) counts once; 0 if
    the process has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        of_children = sum(map(megabytes, children(pid)))
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return of_children + sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return 0.0


def growth(action: Callable[[], object]) -> float:
    """Return the maximum growth of this process in megabytes while an action runs."""
    Path("/proc/self/clear_refs").write_text("5")  # the most ever held is what is held now
    before = _status("VmHWM")
    action()
    return _status("VmHWM") - before


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def thirds(samples: Mapping[str, Sequence[float]]) -> list[Row]:
    """Return one row per process: the median of each third of its samples, the maximum, and the last third as a ratio
    to the second. The first third is warm-up: caches fill, and the initial contents of the inbox are read."""
    return [_thirds(name, values) for name, values in samples.items()]


def _thirds(name: str, samples: Sequence[float]) -> Row:
    first, middle, last = (
        median(samples[at * len(samples) // 3 : (at + 1) * len(samples) // 3]) for at in range(3)
    )
    return {
        "memory, MB": name,
        "first third": round(first),
        "middle third": round(middle),
        "last third": round(last),
        "peak": round(max(samples)),
        "last third / middle third": last / middle,
    }

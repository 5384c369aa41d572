"""Memory that a process has freed goes back to the machine, also that of a thread that only waits now."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.servers import ROOT

ARROW_MB = 97
"""What the work below holds at most in PyArrow's pool."""
MOST_KEPT_MB = 100
"""Of the 190 MB by which a process grows with that work where nothing is returned."""

PROGRAM = """
import json, sys, threading, time
import psutil, pyarrow as pa
from finops.lib import memory
from finops.worker.pool import LanePool

def work(*_):
    arrays = [pa.array([f"value {at}" * 5 for at in range(2000)]) for _ in range(500)]
    together = pa.concat_arrays(arrays)
    del arrays, together
    done.set()
    return False, "null", 1.0

def megabytes():
    return psutil.Process().memory_info().rss // 2**20

def in_a_thread():
    threading.Thread(target=lambda: (work(), threading.Event().wait()), daemon=True).start()

def in_the_worker():
    LanePool().on_apply(work, ("lake.merge_usage", "id", {}, "[[1], {}, {}]"), {}, lambda _: None)

done, before = threading.Event(), megabytes()
if sys.argv[1] == "program":
    memory.RETURN_SECONDS = 0.1
    memory.return_memory_regularly()
    in_a_thread()
elif sys.argv[1] == "worker":
    in_the_worker()
else:
    in_a_thread()
done.wait()
end = time.monotonic() + 20
while megabytes() - before > int(sys.argv[2]) and time.monotonic() < end:
    time.sleep(0.05)
print(megabytes() - before, pa.default_memory_pool().max_memory() // 2**20)
"""


def memory_growth(by: str, until: int = MOST_KEPT_MB) -> tuple[int, int]:
    """The MB by which a process grew once it had until 20 s to return what it freed, and the most that Arrow held."""
    command = [sys.executable, "-c", PROGRAM, by, str(until)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    grown, most = map(int, run.stdout.split())
    return grown, most


@pytest.mark.parametrize("by", ["worker", "program"])
def test_memory_freed_by_a_waiting_thread_returns_to_the_machine(by: str) -> None:
    grown, most = memory_growth(by)

    assert most >= ARROW_MB
    assert grown <= MOST_KEPT_MB


def test_without_that_a_waiting_thread_keeps_what_it_freed() -> None:
    """Where this fails, PyArrow returns memory by itself, and `memory.return_memory` may go."""
    grown, _most = memory_growth("nothing", until=10_000)

    assert grown > MOST_KEPT_MB

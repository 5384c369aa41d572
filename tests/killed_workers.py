"""Workers that end by kill -9 at a step: `python -m tests.killed_workers MODULE:FUNCTION`.

Reads lines of JSON, `[step, arguments]`. For each a fork calls the function with `at` and the arguments; the function calls
`at(name)` at each of its steps, and the fork kills itself at that step (from 0). Answers with the name of the step, or "" when the
function came to its end first.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers import ROOT, process_environment


class KilledWorkers:
    """A process that starts workers on the test's own database and lake."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def killed_at(self, step: int, *arguments: Any) -> str:
        """Let a worker run until that step (from 0). Returns the step's name, "" where the work ended before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([step, arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that starts workers ended"
        return str(json.loads(line))


@contextmanager
def killed_workers(function: str) -> Iterator[KilledWorkers]:
    """Yield workers that call `module:function`."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, function],
        env=process_environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield KilledWorkers(process)
    finally:
        process.kill()
        process.communicate()


def _main(path: str) -> None:
    import django

    django.setup()
    module, _, name = path.partition(":")
    function = getattr(importlib.import_module(module), name)  # here, so that no fork has to import
    for line in sys.stdin:
        step, arguments = json.loads(line)
        sys.stdout.write(json.dumps(_run_forked(function, step, arguments)) + "\n")
        sys.stdout.flush()


def _run_forked(function: Callable[..., None], step: int, arguments: list[Any]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(function, step, arguments, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        name = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL):
        raise RuntimeError(f"The worker ended with {os.waitstatus_to_exitcode(status)}.")
    return name


def _work(function: Callable[..., None], step: int, arguments: list[Any], writing: int) -> None:
    passed = 0

    def kill_at(name: str) -> None:
        nonlocal passed
        if passed == step:
            os.write(writing, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    function(kill_at, *arguments)
    os._exit(0)


if __name__ == "__main__":
    _main(sys.argv[1])

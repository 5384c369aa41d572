"""A worker of uploads that ends by kill -9: `python -m tests.ingestion.upload_crash_worker UPLOAD`, a step a line on stdin.

Each line's work is done by a fork, which kills itself before or after that step and whose end is answered: the step's
name, or "" when the upload came to its end first.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

STEPS = ("_fence", "check_batch", "store_events", "_write_ledger", "_keep_lines", "_move_on", "store_chunk")


def _main(upload_id: int) -> None:
    import django

    django.setup()
    for line in sys.stdin:
        sys.stdout.write(_run_in_fork(upload_id, int(line)) + "\n")
        sys.stdout.flush()


def _run_in_fork(upload_id: int, step: int) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(upload_id, step, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        name = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL):
        raise RuntimeError(f"The worker ended with {os.waitstatus_to_exitcode(status)}.")
    return name


def _work(upload_id: int, step: int, writing: int) -> None:
    from ingestion.services import chunks, uploads

    passed = 0

    def kill_at(name: str) -> None:
        nonlocal passed
        if passed == step:
            os.write(writing, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    def kill_around(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            kill_at(f"after {name}")
            return result

        return call

    for name in STEPS:
        module = uploads if name == "store_chunk" else chunks
        patch.object(module, name, kill_around(name, getattr(module, name))).start()
    uploads.run_upload(upload_id)
    os._exit(0)


if __name__ == "__main__":
    _main(int(sys.argv[1]))

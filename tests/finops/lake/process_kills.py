"""Workers that end by kill -9 at a step of their own choice: `python -m tests.finops.lake.process_kills`.

Reads lines of JSON, `[operation, arguments, step]`; each is done by a fork of its own that kills itself at that step.
Answers with the name of the step, or "" when the operation came to its end first.
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
from uuid import UUID

from django.conf import settings

from tests.servers import database_url


class Workers:
    """A process that makes workers of the test's own database and lake."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def killed_at(self, step: int, operation: str, *arguments: Any) -> str:
        """Let a worker do it until that step (from 0); the step's name, "" when it was done before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([operation, arguments, step]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that makes workers ended"
        return str(json.loads(line))


@contextmanager
def workers() -> Iterator[Workers]:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
        "DATABASE_URL": database_url(),
        "DATABASE_POOL": "0",
        "VAR_DIR": str(settings.VAR_DIR),
        "LAKE_URL": str(settings.LAKE_URL),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env=environment,
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Workers(process)
    finally:
        process.kill()
        process.communicate()


def _main() -> None:
    import django

    django.setup()
    importlib.import_module("tests.finops.lake.steps")  # here, so that no fork has to
    for line in sys.stdin:
        operation, arguments, step = json.loads(line)
        sys.stdout.write(json.dumps(_run_forked(operation, arguments, step)) + "\n")
        sys.stdout.flush()


def _run_forked(operation: str, arguments: list[Any], step: int) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(operation, arguments, step, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        name = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL):
        raise RuntimeError(f"The worker ended with {os.waitstatus_to_exitcode(status)}.")
    return name


def _work(operation: str, arguments: list[Any], step: int, writing: int) -> None:
    from tests.finops.lake.steps import watching

    passed = 0

    def kill_at(name: str) -> None:
        nonlocal passed
        if passed == step:
            os.write(writing, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    with watching(kill_at):
        OPERATIONS[operation](*arguments)
    os._exit(0)


def _flush(account_id: int) -> None:
    from finops.lake.usage.flush import flush_usage

    flush_usage(_account(account_id))


def _merge(account_id: int) -> None:
    from finops.lake.usage.compaction import tidy_usage

    tidy_usage(_account(account_id))


def _void(account_id: int, batch: str) -> None:
    from datetime import date

    from finops.lake.usage.usage_removal import void_batch

    void_batch(
        account=_account(account_id),
        source_id=1,
        batch=UUID(batch),
        first_day=date.min,
        last_day=date.max,
    )


def _account(account_id: int) -> Any:
    from accounts.models import Account

    return Account.objects.get(pk=account_id)


OPERATIONS: dict[str, Callable[..., None]] = {"flush": _flush, "merge": _merge, "void": _void}

if __name__ == "__main__":
    _main()

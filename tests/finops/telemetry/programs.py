"""Other programs of the product next to a server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finops.worker.programs import worker_commands


@contextmanager
def program(name: str, log: Path, environment: dict[str, str]) -> Iterator[None]:
    """It runs within, by its name among `worker_commands`, and writes its log there."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            dict(worker_commands())[name],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def lines(log: Path) -> list[dict[str, Any]]:
    """Raises json.JSONDecodeError for a line that is not JSON."""
    return [json.loads(line) for line in log.read_text().splitlines()]

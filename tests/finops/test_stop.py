"""A stop leaves no process, whatever signals arrive at whatever line, and neither does a supervisor that is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from finops.embedded import cluster
from finops.processes import is_group_alive
from tests.finops.stop_storms import processes
from tests.long import also_long
from tests.servers import _end_with_the_tests, free_port
from tests.waiting import wait_until

GRACE_SECONDS = cluster.STOP_SECONDS
"""Nothing that the tests start needs longer; most ends at once."""
TIMED_OUT = -1

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("stop")]


def sleep_in_child(file: str) -> None:
    Path(file).write_text(str(os.getpid()))
    time.sleep(600)


class Consoles:
    """Starts and stops of `manage.py up` in one folder (tests/finops/stop_storms.py)."""

    def __init__(self, var_dir: Path) -> None:
        left_out = ("DATABASE_URL", "PUBLIC_URL", "REDIS_URL")
        inherited = {name: value for name, value in os.environ.items() if name not in left_out}
        self.var_dir = var_dir
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.finops.stop_storms", str(free_port())],
            env={**inherited, "VAR_DIR": str(var_dir), "DJANGO_SETTINGS_MODULE": "finops.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=_end_with_the_tests,
        )

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def lines(self) -> list[tuple[str, int]]:
        """Lines of a start and its stop, which is asked for once all runs."""
        return [(file, line) for file, line in self.ask(record=True)]

    def log(self) -> str:
        return (self.var_dir / "storms.log").read_text()

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def consoles() -> Iterator[Consoles]:
    folder = Path(tempfile.mkdtemp(prefix="finops-stop-"))
    folder.chmod(0o755)
    driver = Consoles(folder / "var")
    try:
        driver.lines()  # which creates the database
        yield driver
    finally:
        driver.end()
        shutil.rmtree(folder)


@pytest.mark.parametrize("kill", [False, True], ids=["storm of signals", "killed"])
@pytest.mark.parametrize("step", [15, *also_long(1)])
def test_no_process_is_left_at_any_line_of_start_and_stop(consoles: Consoles, kill: bool, step: int) -> None:
    lines = consoles.lines()
    assert len(lines) > 300

    failures = {}
    for file, line in islice(lines, 0, None, step):
        outcome = consoles.ask(record=False, file=file, line=line, kill=kill, grace=GRACE_SECONDS)
        if outcome["survivors"] or outcome["status"] == TIMED_OUT:
            failures[f"{Path(file).name}:{line}"] = outcome

    assert failures == {}
    log_length = len(consoles.log())
    consoles.lines()
    assert "Ready after" in consoles.log()[log_length:]
    assert "Stopped." in consoles.log()[log_length:]
    assert processes(str(consoles.var_dir)) == []


def test_a_child_with_an_untrusted_file_does_not_outlive_a_killed_worker(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = (
        "import django; django.setup(); from finops.lib import child_process; "
        f"child_process.run('{__name__}.sleep_in_child', {str(file)!r}, name='child')"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "finops.settings"},
        start_new_session=True,
    )
    wait_until(lambda: file.exists() and file.read_text() != "", seconds=120)

    worker.kill()

    worker.wait()
    wait_until(lambda: not is_group_alive(worker.pid), seconds=10)

"""Neither a finished nor a killed run leaves a process behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.run_processes import left_behind
from tests.servers import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.slow
# A provider, and a program with a session and a process of its own, as a console is.
BEGINS = """
import os, subprocess
from pathlib import Path
from tests.accounts.sso.providers import oidc_server

def test_that_begins_processes():
    subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
"""
HANGS = """
    with oidc_server():
        Path("begins").write_text(os.environ["TEST_RUN_DIR"])
        Path("begins").rename("begun")
        os.read(os.open("over", os.O_RDONLY), 1)
"""


@contextmanager
def run_of(folder: Path, text: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a run of pytest on this test, with the PostgreSQL of the run of this test."""
    (folder / "test_begins.py").write_text(text)
    os.mkfifo(folder / "over")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"TEST_DATABASE_URL": os.environ["DATABASE_URL"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder)]
    plugins = ["-p", "tests.postgres", "-p", "no:cacheprovider"]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [*command, *plugins, *options], cwd=folder, env=environment, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "a worker"])
def test_what_a_killed_run_began_ends(tmp_path: Path, options: tuple[str, ...]) -> None:
    with run_of(tmp_path, BEGINS + HANGS, *options) as run:
        wait_until((tmp_path / "begun").exists, (tmp_path / "output").read_text)
        begun = left_behind((tmp_path / "begun").read_text())
        assert {"node", "sh", "sleep"} <= {Path(process.cmdline()[0]).name for process in begun}

        run.kill()

        assert psutil.wait_procs(begun, PATIENCE_SECONDS)[1] == []


def test_a_run_that_leaves_a_process_fails_and_ends_it(tmp_path: Path) -> None:
    with run_of(tmp_path, BEGINS) as run:
        status = run.wait()

    output = (tmp_path / "output").read_text()
    assert status == pytest.ExitCode.TESTS_FAILED, output
    assert "1 passed" in output
    assert "sleep 600" in output

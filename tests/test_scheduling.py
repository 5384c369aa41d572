"""The tests of a group go to one worker. Once they silently did not, and each worker started every server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import RUN_DIR
from tests.scheduling import group_of
from tests.servers import ROOT

FILE = """
import os, pathlib, pytest

@pytest.fixture
def console():
    pass

@pytest.fixture(scope="module")
def account():
    pass

@pytest.mark.parametrize("n", range(6))
def test_with_the_account(n, account):
    note(__name__)

@pytest.mark.xdist_group("marked")
@pytest.mark.parametrize("n", range(6))
def test_marked(n):
    note("marked")

@pytest.mark.parametrize("n", range(6))
def test_served(n, console):
    note("served")

def note(group):
    with pathlib.Path("seen").open("a") as file:
        file.write(f"{group} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


@pytest.mark.slow
def test_a_group_and_the_users_of_a_server_or_of_an_account_each_run_in_one_worker(tmp_path: Path) -> None:
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-c", os.devnull]
    command += [
        "--rootdir",
        str(tmp_path),
        "-p",
        "tests.scheduling",
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
    ]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment = {**outside, RUN_DIR: str(tmp_path), "PYTHONPATH": str(ROOT)}

    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert "36 passed" in result.stdout, result.stdout + result.stderr
    lines = (tmp_path / "seen").read_text().splitlines()
    assert len(lines) == 36
    assert len(set(lines)) == 4, "each group in one worker"


@pytest.mark.xdist_group("apart")
def test_a_mark_names_the_group(request: pytest.FixtureRequest) -> None:
    assert isinstance(request.node, pytest.Item)
    assert group_of(request.node) == "apart"

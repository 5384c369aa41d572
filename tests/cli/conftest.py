from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import ROOT, LiveServer

CLI = ROOT / "cli"


@dataclass(frozen=True)
class Shell:
    """Runs `finops` in a process of its own, which sees the package and Python's standard library alone."""

    environment: dict[str, str]

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-S", "-m", "finops_cli", *arguments],
            env={**self.environment, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, stdin: str = "", status: int = 0, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """The ended process, whose exit status is as expected."""
        process = self.start(*arguments, **more)
        out, err = process.communicate(stdin, timeout=60)
        assert process.returncode == status, (out, err)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def problem(self, *arguments: str, stdin: str = "", status: int = 2, **more: str) -> str:
        return self.run(*arguments, stdin=stdin, status=status, **more).stderr


@pytest.fixture(scope="session")
def served_keys(live_server_process: LiveServer) -> dict[str, str]:
    keys: dict[str, str] = live_server_process.run("tests.cli.server_steps:with_keys")
    return keys


@pytest.fixture
def bare_shell(tmp_path: Path) -> Shell:
    """Without address and credentials."""
    own = {"PYTHONPATH": str(CLI), "HOME": str(tmp_path), "PATH": os.environ["PATH"], "COLUMNS": "300"}
    return Shell({**own, "PYTHONIOENCODING": "utf-8"})


@pytest.fixture
def shell(bare_shell: Shell, live_server_process: LiveServer, served_keys: dict[str, str]) -> Shell:
    return Shell(
        {
            **bare_shell.environment,
            "FINOPS_URL": live_server_process.url,
            "FINOPS_TOKEN": served_keys["read"],
            "FINOPS_COST_KEY": served_keys["cost"],
            "FINOPS_USAGE_KEY": served_keys["usage"],
        }
    )

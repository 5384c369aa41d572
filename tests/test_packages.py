"""The npm packages: few for the console, and the MCP clients for its tests only."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MOST_FOR_PAGES = 20


def lock_entries() -> dict[str, dict[str, Any]]:
    packages: dict[str, dict[str, Any]] = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    return {path: entry for path, entry in packages.items() if path}


def test_running_the_console_installs_what_pages_load_and_no_client() -> None:
    # Of an optional one only that of the machine is installed: the bundler has one for each kind of machine.
    for_pages = [
        path for path, entry in lock_entries().items() if not entry.get("dev") and not entry.get("optional")
    ]

    assert "node_modules/echarts" in for_pages
    assert not any("modelcontextprotocol" in path or "mcp-remote" in path for path in for_pages)
    assert len(for_pages) <= MOST_FOR_PAGES


def test_make_run_leaves_the_clients_out_and_make_test_does_not() -> None:
    def commands(target: str) -> str:
        # -B: as if nothing were installed yet; -n: only say what would be done.
        command = ["make", "-nB", f"node_modules/{target}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "npm ci --omit=dev" in commands(".ready")
    assert "npm ci --loglevel" in commands(".ready-dev")
    assert "npm run build" in commands(".ready")
    assert "npm run build" in commands(".ready-dev")


def test_a_package_is_the_one_that_was_locked_wherever_it_comes_from() -> None:
    assert [path for path, entry in lock_entries().items() if not entry.get("integrity")] == []
    assert [path for path, entry in lock_entries().items() if "resolved" in entry] == []

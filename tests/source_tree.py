"""The files of the project, and the Python of the product, each parsed once, for tests of rules."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("accounts", "finops", "ingestion", "mcpserver")


@cache
def tracked_files() -> tuple[Path, ...]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file())


@cache
def product_trees() -> dict[Path, ast.Module]:
    """Return the syntax trees of the product's Python without migrations, by path from the project's root."""
    paths = [path.relative_to(ROOT) for path in tracked_files() if path.suffix == ".py"]
    return {
        path: ast.parse((ROOT / path).read_text())
        for path in paths
        if path.parts[0] in PACKAGES and "migrations" not in path.parts
    }

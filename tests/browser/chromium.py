"""The browser's executable and its flags. Imports nothing of Django."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
)


# The headless shell is the same engine without windows: 30 pages take 7 s of processor time, 15 s in chromium.
PROGRAMS = ("chromium-headless-shell", "chromium")


def chromium_path() -> str:
    """Return the executable that CHROMIUM names, or else Debian's headless shell, or else its chromium."""
    installed = (path for program in PROGRAMS if (path := shutil.which(program)))
    program_path = os.environ.get("CHROMIUM") or next(installed, "/usr/bin/chromium")
    if not Path(program_path).exists():
        raise RuntimeError(
            "The browser tests need chromium, and there is none: apt-get install chromium-headless-shell, "
            "or set CHROMIUM to the path of one."
        )
    return program_path

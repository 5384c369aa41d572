"""Which browser, started how. Imports nothing of Django."""

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


def chromium_path() -> str:
    """Debian's chromium, or the one that CHROMIUM names."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(found).exists():
        raise RuntimeError(
            "The browser tests need chromium, and there is none: apt-get install chromium, "
            "or set CHROMIUM to the path of one."
        )
    return found

"""Variables of the files below ops/, held against what the settings read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SYSTEMD = ROOT / "ops" / "systemd"
EXAMPLE = ROOT / "ops" / "finops.env.example"
LIBRARIES = re.compile(r"(OTEL|AWS|POSTGRES)_[A-Z_]+")


def unknown(names: set[str]) -> list[str]:
    """Those that neither the settings nor a library or a server beside us reads."""
    recorded = (ROOT / "tests" / "data" / "interface" / "environment.txt").read_text()
    settings = {line.split("  ")[0] for line in recorded.splitlines()}
    return sorted(name for name in names - settings if not LIBRARIES.fullmatch(name))


def of_example() -> set[str]:
    """Of ops/finops.env.example, with those that are commented out."""
    return set(re.findall(r"^#?([A-Z][A-Z_]+)=", EXAMPLE.read_text(), re.MULTILINE))

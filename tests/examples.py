"""How many generated inputs a test of Hypothesis takes: all in `make soak`, a fifth of them in `make test`, which takes the
same every time."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("SOAK"))
LEAST = 10


def examples(count: int) -> int:
    """Of `count`, what this run takes. What a bug needs is nearly always among the first; the rest is for the soak."""
    return count if SOAK else min(count, max(LEAST, count // 5))

"""How many generated inputs a test of Hypothesis takes: all in `make soak`, a fifth of them in `make test`."""

from __future__ import annotations

import os

LEAST = 10


def examples(count: int) -> int:
    """Of `count`, what this run takes. What a bug needs is nearly always among the first; the rest is for the soak."""
    return count if os.environ.get("SOAK") else min(count, max(LEAST, count // 5))

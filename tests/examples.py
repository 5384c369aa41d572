"""The number of generated inputs of a Hypothesis test: all in `make soak`; in `make test` a fifth, the same ones
every time."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("SOAK"))
LEAST = 10


def examples(count: int) -> int:
    """Return the number of inputs in this run, out of `count`. Most bugs appear with the first inputs; `make soak`
    runs the rest."""
    return count if SOAK else min(count, max(LEAST, count // 5))

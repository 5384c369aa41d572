"""Durations by size class, so that percentiles of any number of calls are computed from a few counts.

Four classes an octave: a class is 19 % wide, so its middle is within 10 % of each duration in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

_PER_OCTAVE = 4
_LOWEST, _HIGHEST = -5 * _PER_OCTAVE, 20 * _PER_OCTAVE


def bucket_of(milliseconds: float) -> int:
    """Return the class of a duration; those under 1/32 ms are one, those over 17 minutes too."""
    if milliseconds <= 0:
        return _LOWEST
    return min(max(math.floor(math.log2(milliseconds) * _PER_OCTAVE), _LOWEST), _HIGHEST)


def middle(bucket: int) -> float:
    """Return the duration in milliseconds that represents a class."""
    return float(2 ** ((bucket + 0.5) / _PER_OCTAVE))


def percentile(calls: Mapping[int, int], share: float) -> float | None:
    """Return the duration that this share of the calls did not exceed (nearest rank), within 10 %; None for no calls."""
    rank, cumulative = math.ceil(share * sum(calls.values())), 0
    for bucket in sorted(calls):
        cumulative += calls[bucket]
        if cumulative >= rank:
            return middle(bucket)
    return None

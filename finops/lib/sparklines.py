"""A trend so small that it stands in a table's cell: an SVG path, without scales."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

WIDTH, HEIGHT = 96, 24
_EDGE = 2


def spark_path(values: Sequence[Decimal | None]) -> str:
    """The line as an SVG path in a box of WIDTH by HEIGHT; a gap where a value is None. Empty without two values.

    The scale has 0 in it, so that small moves of a large amount look small.
    """
    numbers = [float(value) for value in values if value is not None]
    if len(numbers) < 2:
        return ""
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    step = (WIDTH - 2 * _EDGE) / (len(values) - 1)
    path, drawing = [], False
    for index, value in enumerate(values):
        if value is not None:
            share = (float(value) - low) / (high - low) if high > low else 0.5
            y = HEIGHT - _EDGE - share * (HEIGHT - 2 * _EDGE)
            path.append(f"{'L' if drawing else 'M'}{_EDGE + index * step:.1f} {y:.1f}")
        drawing = value is not None
    return "".join(path)

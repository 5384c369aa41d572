"""Results of a benchmark and their output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

Row = Mapping[str, str | float | int | bool]
"""One line of the table, column by column. The rows of a benchmark may have different columns."""


def as_text(rows: Sequence[Row]) -> str:
    """Tables in Markdown, a new one wherever the columns change."""
    tables: list[list[Row]] = []
    for row in rows:
        if not tables or list(tables[-1][0]) != list(row):
            tables.append([])
        tables[-1].append(row)
    return "\n\n".join(_table(table) for table in tables) + "\n"


@dataclass(frozen=True)
class Timing:
    """Wall-clock milliseconds, and processor milliseconds of all cores (less affected by other load)."""

    clock: float
    cpu: float


def medians(times: int, **actions: Callable[[], object]) -> dict[str, float]:
    """Return the median wall-clock milliseconds of each action, measured by `taken`."""
    return {name: each.clock for name, each in timings(times, **actions).items()}


def timings(times: int, **actions: Callable[[], object]) -> dict[str, Timing]:
    """Return the median timing of each action over `times` runs. Actions take turns, so other load affects all of
    them; the first turn of each is warm-up."""
    turns: dict[str, list[Timing]] = {name: [] for name in actions}
    for turn in range(times + 1):
        for name, action in actions.items():
            start, used = perf_counter(), process_time()
            action()
            if turn:
                turns[name].append(Timing((perf_counter() - start) * 1_000, (process_time() - used) * 1_000))
    return {
        name: Timing(median(each.clock for each in values), median(each.cpu for each in values))
        for name, values in turns.items()
    }


def _table(rows: Sequence[Row]) -> str:
    names = list(rows[0])
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _cell(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)

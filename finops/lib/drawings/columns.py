"""The geometry of a column chart, in CSS pixels from the upper left corner."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from finops.lib.drawings.chart import ColumnChart, DrawnSeries
from finops.lib.formats import dates, locales, numbers

FONT_SIZE = 11
LETTER = 6.4
"""The mean width of a letter; a little more than fonts have, so that labels do not touch."""

_TOP, _RIGHT = 8, 8
_AXIS = 22
_LEGEND_ROW = 18
_SWATCH = 9
_MOST_STEPS = 4
_COLOURS = 10


@dataclass(frozen=True)
class Box:
    """A filled rectangle; `paint` is a key of the palette: `c0` to `c9`, a tone, `grid` or `axis`."""

    x: float
    y: float
    width: float
    height: float
    paint: str


@dataclass(frozen=True)
class Label:
    """A text whose baseline is at y."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True)
class Mark:
    """A marker above the column of a label. `kinds` are those of its events, `text` describes them, a line each."""

    x: float
    label: str
    kinds: list[str]
    text: str


@dataclass(frozen=True)
class Drawing:
    """The parts of a drawing, in the order in which they are painted."""

    width: int
    height: int
    boxes: list[Box]
    labels: list[Label]
    marks: Sequence[Mark] = ()


MARK_BASELINE = 10
_MARK_ROOM = 8


def draw_columns(
    chart: ColumnChart,
    *,
    width: int,
    height: int,
    with_legend: bool = True,
    marks: Mapping[str, tuple[list[str], str]] | None = None,
) -> Drawing:
    """Draw the chart into this many pixels, with a legend below it when there are several series. `marks` are kinds and
    text of the events by label."""
    legend = list(_legend_places(chart, width)) if with_legend else []
    rows = 1 + max((row for _, _, row in legend), default=-1)
    plot = _Plot(chart, width, height - rows * _LEGEND_ROW, top=_TOP + (_MARK_ROOM if marks else 0))
    boxes, labels = plot.grid()
    boxes += plot.columns() + plot.limit()
    labels += plot.bucket_labels()
    for name, (paint, x), row in legend:
        y = height - (rows - row) * _LEGEND_ROW + 12
        boxes.append(Box(x, y - _SWATCH + 1, _SWATCH, _SWATCH, paint))
        labels.append(Label(x + _SWATCH + 5, y, name))
    return Drawing(width, height, boxes, labels, plot.marks(marks or {}))


class _Plot:
    """The columns, their axes and the scale."""

    def __init__(self, chart: ColumnChart, width: int, height: int, *, top: int = _TOP) -> None:
        self.chart, self.top = chart, top
        self.low, self.high, self.step = _scale(chart)
        texts = [_tick_text(value, chart.currency) for value in self.ticks]
        self.texts = texts
        self.left = 10 + math.ceil(max(map(len, texts)) * LETTER)
        self.right, self.bottom = width - _RIGHT, height - _AXIS
        self.slot = (self.right - self.left) / max(1, len(chart.labels))

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + self.step * at for at in range(count + 1)]

    def y(self, value: float) -> float:
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)

    def grid(self) -> tuple[list[Box], list[Label]]:
        boxes, labels = [], []
        for value, text in zip(self.ticks, self.texts, strict=True):
            y = self.y(value)
            paint = "axis" if abs(value) < self.step / 2 else "grid"
            boxes.append(Box(self.left, y, self.right - self.left, 1, paint))
            labels.append(Label(self.left - 6, y + 4, text, "end"))
        return boxes, labels

    def columns(self) -> list[Box]:
        """Draw positive parts above the axis and negative ones below it, each stacked in the order of the series."""
        boxes = []
        bar = max(1.0, min(self.slot * 0.7, 44.0))
        paints = paints_of(self.chart.series)
        for at in range(len(self.chart.labels)):
            x = self.left + self.slot * (at + 0.5) - bar / 2
            ends = {True: 0.0, False: 0.0}
            for each, paint in zip(self.chart.series, paints, strict=True):
                value = each.values[at]
                if not value:
                    continue
                start, end = ends[value > 0], ends[value > 0] + value
                ends[value > 0] = end
                top, bottom = self.y(max(start, end)), self.y(min(start, end))
                boxes.append(Box(x, top, bar, bottom - top, paint))
        return boxes

    def limit(self) -> list[Box]:
        if self.chart.limit is None:
            return []
        return [Box(self.left, self.y(self.chart.limit) - 1, self.right - self.left, 2, "limit")]

    def marks(self, by_label: Mapping[str, tuple[list[str], str]]) -> list[Mark]:
        return [
            Mark(self.left + self.slot * (at + 0.5), label, *by_label[label])
            for at, label in enumerate(self.chart.labels)
            if label in by_label
        ]

    def bucket_labels(self) -> list[Label]:
        """Draw as many bucket labels as fit, always including the last one."""
        texts = [dates.bucket(label) for label in self.chart.labels]
        room = max(map(len, texts), default=1) * LETTER + 8
        every = max(1, math.ceil(room / self.slot))
        last = len(texts) - 1
        labels = []
        for at, text in enumerate(texts):
            if (last - at) % every:
                continue
            middle = self.left + self.slot * (at + 0.5)
            half = len(text) * LETTER / 2
            if middle + half > self.right + _RIGHT:
                labels.append(Label(self.right + _RIGHT, self.bottom + 16, text, "end"))
            elif middle - half >= 0:
                labels.append(Label(middle, self.bottom + 16, text, "middle"))
        return labels


def _tick_text(value: float, currency: str) -> str:
    """Format a tick, `$5,000` or `$10K`: round numbers have no cents."""
    affixes = numbers.currency_affixes(currency, locales.active().locale)
    sign = numbers.MINUS if value < 0 else ""
    return f"{sign}{affixes.prefix}{numbers.compact(abs(value))}{affixes.suffix}"


def paints_of(series: Sequence[DrawnSeries]) -> list[str]:
    """Return the palette key of each series."""
    places = iter(range(len(series)))
    return [each.tone or f"c{next(places) % _COLOURS}" for each in series]


def _scale(chart: ColumnChart) -> tuple[float, float, float]:
    """Return the lowest tick, the highest tick and the step: round numbers that include 0."""
    low = high = 0.0
    for at in range(len(chart.labels)):
        column = [each.values[at] or 0.0 for each in chart.series]
        high = max(high, sum(value for value in column if value > 0))
        low = min(low, sum(value for value in column if value < 0))
    high = max(high, chart.limit or 0.0)
    size = (high - low) or 1.0
    step = _round_step(size / _MOST_STEPS)
    return math.floor(low / step) * step, max(math.ceil(high / step), 1) * step, step


def _round_step(size: float) -> float:
    """Round up to the next 1, 2, 2.5 or 5 times a power of ten."""
    power: float = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= size * 0.999999)


def legend_of(chart: ColumnChart) -> list[tuple[str, str]]:
    """Return (paint, name) of each series and the limit; empty for a single series."""
    entries = [(paint, each.name) for each, paint in zip(chart.series, paints_of(chart.series), strict=True)]
    if chart.limit is not None:
        entries.append(("limit", chart.limit_name))
    return entries if len(entries) > 1 else []


def _legend_places(chart: ColumnChart, width: int) -> Iterator[tuple[str, tuple[str, float], int]]:
    """Return (name, (paint, x), row) of each legend entry."""
    x, row = 8.0, 0
    for paint, name in legend_of(chart):
        size = _SWATCH + 5 + len(name) * LETTER + 16
        if x > 8 and x + size > width:
            x, row = 8.0, row + 1
        yield name, (paint, x), row
        x += size

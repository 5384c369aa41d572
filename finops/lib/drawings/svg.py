"""Render a drawing as SVG within a page: its colours are classes of `static/css/reports.css`, so it follows the theme and
prints."""

from __future__ import annotations

import json
from collections.abc import Iterable

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from finops.lib.drawings.columns import MARK_BASELINE, Box, Drawing, Label, Mark


def to_svg(drawing: Drawing, alt: str, css: str = "") -> SafeString:
    """Return an SVG image with a name for screen readers, as wide as its container."""
    return format_html(
        '<svg class="drawing {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>',
        css,
        drawing.width,
        drawing.height,
        alt,
        _boxes(drawing.boxes),
        _labels(drawing.labels),
        _marks(drawing.marks),
    )


def _boxes(boxes: Iterable[Box]) -> SafeString:
    rows = (
        (_number(box.x), _number(box.y), _number(box.width), _number(box.height), box.paint) for box in boxes
    )
    return format_html_join("", '<rect x="{}" y="{}" width="{}" height="{}" class="paint-{}"/>', rows)


def _labels(labels: Iterable[Label]) -> SafeString:
    rows = ((_number(label.x), _number(label.y), label.anchor, label.text) for label in labels)
    return format_html_join("", '<text x="{}" y="{}" text-anchor="{}">{}</text>', rows)


def _marks(marks: Iterable[Mark]) -> SafeString:
    """Return triangles whose tip has the events; chart-markers.js hides them by kind and opens their list."""
    rows = (
        (
            each.label,
            json.dumps(each.kinds),
            each.text,
            _number(each.x),
            MARK_BASELINE,
        )
        for each in marks
    )
    return format_html_join(
        "",
        '<g class="drawing-mark" data-mark-label="{}" data-mark-kinds="{}"><title>{}</title>'
        '<text x="{}" y="{}" text-anchor="middle">▾</text></g>',
        rows,
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

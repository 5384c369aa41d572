"""Render a drawing as PNG, for email: no mail program shows SVG.

Pillow is imported on first use: 6 MB that a process that sends no charts does not need.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any, Final

from finops.lib.drawings.columns import FONT_SIZE, Drawing

SCALE: Final = 2
"""Image pixels per CSS pixel, for sharp screens."""

FONT_FILE: Final = Path(__file__).with_name("fonts") / "DejaVuSans.ttf"

BACKGROUND: Final = "#ffffff"
TEXT: Final = "#5f6875"
PALETTE: Final = {
    **{
        f"c{at}": colour
        for at, colour in enumerate(
            [
                *("#0f766e", "#2563eb", "#d97706", "#9333ea", "#db2777"),
                *("#65a30d", "#0891b2", "#dc2626", "#1e3a8a", "#78350f"),
            ]
        )
    },
    "rest": "#94a3b8",
    "unusual": "#dc2626",
    "forecast": "#cbd5e1",
    "limit": "#dc2626",
    "grid": "#e7eaee",
    "axis": "#b6bec9",
}
"""The light colours of static/js/lib/palette.js: a chart in an email has a white background, also in dark mode."""

_ANCHORS: Final = {"start": "ls", "middle": "ms", "end": "rs"}


def to_png(drawing: Drawing) -> bytes:
    """Render on white, at twice the size in CSS pixels. A few kilobytes, 30 ms."""
    from PIL import Image, ImageDraw

    size = drawing.width * SCALE, drawing.height * SCALE
    image = Image.new("RGB", size, BACKGROUND)
    canvas = ImageDraw.Draw(image)
    for box in drawing.boxes:
        left, top = round(box.x * SCALE), round(box.y * SCALE)
        right = max(left, round((box.x + box.width) * SCALE) - 1)
        bottom = max(top, round((box.y + box.height) * SCALE) - 1)
        canvas.rectangle((left, top, right, bottom), fill=PALETTE[box.paint])
    font = _font()
    for label in drawing.labels:
        place = label.x * SCALE, label.y * SCALE
        canvas.text(place, label.text, font=font, fill=TEXT, anchor=_ANCHORS[label.anchor])
    output = io.BytesIO()
    image.quantize(colors=64).save(output, "PNG", optimize=True)
    return output.getvalue()


@cache
def _font() -> Any:
    """Return DejaVu Sans with Latin scripts and currency symbols: a server need not have fonts, and Pillow's own has no
    euro sign."""
    from PIL import ImageFont

    return ImageFont.truetype(FONT_FILE, FONT_SIZE * SCALE)

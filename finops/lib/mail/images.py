"""Inline images of an email."""

from __future__ import annotations

from dataclasses import dataclass
from email.mime.image import MIMEImage
from functools import cache
from pathlib import Path
from typing import Final

LOGO: Final = "logo@finops-console"
_LOGO_FILE: Final = Path(__file__).with_name("logo.png")


@dataclass(frozen=True)
class InlineImage:
    """A PNG that the HTML shows as `cid:<content_id>`; width and height in CSS pixels, `alt` its text, `legend`
    pairs of colour and name."""

    content_id: str
    png: bytes
    width: int
    height: int
    alt: str
    legend: tuple[tuple[str, str], ...] = ()

    @property
    def part(self) -> MIMEImage:
        return _part(self.content_id, self.png)


def logo_part() -> MIMEImage:
    return _part(LOGO, _logo())


@cache
def _logo() -> bytes:
    return _LOGO_FILE.read_bytes()


def _part(content_id: str, png: bytes) -> MIMEImage:
    part = MIMEImage(png, _subtype="png")
    part.add_header("Content-ID", f"<{content_id}>")
    part.add_header("Content-Disposition", "inline", filename=f"{content_id.partition('@')[0]}.png")
    return part

"""The HTML part of an email."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from finops.lib.drawings.chart import ColumnChart
from finops.lib.drawings.columns import draw_columns, legend_of
from finops.lib.drawings.png import PALETTE, to_png
from finops.lib.mail.images import LOGO, InlineImage, logo_part
from finops.lib.mail.text_parts import text_parts

WIDTH, HEIGHT = 536, 220
"""The size of a chart in CSS pixels: it fits an email 600 wide."""

HTML: Final = "text/html"


def attach_html(
    mail: EmailMultiAlternatives,
    template: str,
    context: Mapping[str, Any],
    images: Sequence[InlineImage] = (),
) -> None:
    """Attach HTML to the email's text. The template extends `mail/layout.html`."""
    html = render_to_string(template, {**context, "logo": LOGO, "images": images})
    restore_html(mail, html + "")  # a plain str, which can be stored as JSON
    for image in images:
        mail.attach(image.part)


def attach_text_as_html(mail: EmailMultiAlternatives) -> None:
    """Attach the email's text in the layout: its addresses become buttons, its lists tables."""
    parts = list(text_parts(str(mail.body), settings.PUBLIC_URL))
    attach_html(mail, "mail/text.html", {"subject": mail.subject, "parts": parts})


def restore_html(mail: EmailMultiAlternatives, html: str) -> None:
    """Attach stored HTML that `attach_html` made, with its logo."""
    mail.attach_alternative(html, HTML)
    mail.mixed_subtype = "related"  # type: ignore[attr-defined] # the stubs lack it
    mail.attach(logo_part())


def chart_image(chart: ColumnChart, name: str) -> InlineImage:
    """Return the chart as an image. Its legend is text in the email, because the image's font has Latin letters only.
    `name` is unique within the email."""
    drawing = draw_columns(chart, width=WIDTH, height=HEIGHT, with_legend=False)
    legend = tuple((PALETTE[paint], entry) for paint, entry in legend_of(chart))
    return InlineImage(f"{name}@finops-console", to_png(drawing), WIDTH, HEIGHT, chart.alt, legend)

"""Template filters and tags for reports."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString

from finops.lib.chart_markers import Marker, bucket_texts, markers_by_label
from finops.lib.drawings.chart import ColumnChart
from finops.lib.drawings.columns import draw_columns
from finops.lib.drawings.svg import to_svg
from finops.unitcosts.answers import UnitCostAnswer
from finops.unitcosts.queries.cards import per_unit

register = template.Library()

SIZES = {"wide": (920, 280), "narrow": (360, 260)}


@register.simple_tag
def drawing(chart: ColumnChart, size: str, markers: Sequence[Marker] = ()) -> SafeString:
    """Render the chart as SVG with the events that are marked: `wide` for a page, `narrow` for a phone."""
    width, height = SIZES[size]
    marks = {
        label: (list(kinds), "\n".join(bucket_texts(kinds)))
        for label, kinds in markers_by_label(chart.labels, markers).items()
    }
    return to_svg(draw_columns(chart, width=width, height=height, marks=marks), chart.alt, f"drawing-{size}")


@register.filter
def unit_of(answer: UnitCostAnswer) -> str:
    """Return the unit of a unit cost: `1,000 requests`."""
    return per_unit(answer.per, answer.unit, answer.usage_metric)

"""Template filters and tags for widgets."""

from __future__ import annotations

from decimal import Decimal

from django import template

from finops.costs.answers import SpendTotal
from finops.dashboards.models import Widget

register = template.Library()


@register.filter
def series_values(total: SpendTotal) -> list[Decimal | None]:
    return list(total.series.values())


@register.filter
def about_trend(widget: Widget, currency: str) -> str:
    """Describe a widget's trend to a screen reader."""
    return f"Trend of {widget.title or 'the total'} in {currency}"


@register.filter
def group_title(dimension: str) -> str:
    """Return the heading of a dimension's column: for a tag or a cost tag only its key, to save space."""
    _kind, is_of_key, key = dimension.partition(":")
    return key if is_of_key else dimension.replace("_", " ").capitalize()

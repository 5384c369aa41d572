"""How widgets write what they show."""

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
    """What a widget's trend is of, for a screen reader."""
    return f"Trend of {widget.title or 'the total'} in {currency}"


@register.filter
def group_title(dimension: str) -> str:
    """The head of a dimension's column: of a tag or a cost tag its key, which has little room."""
    _kind, is_of_key, key = dimension.partition(":")
    return key if is_of_key else dimension.replace("_", " ").capitalize()

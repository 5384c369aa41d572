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

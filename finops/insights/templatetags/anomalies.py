"""How templates write anomalies."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from finops.costs.templatetags.costs import words
from finops.insights.answers import AnomalyRow
from finops.insights.models import Anomaly
from finops.insights.views.anomalies import Line
from finops.lib import amounts
from finops.lib.money import ratio

register = template.Library()


@register.filter
def signed_amount(amount: Decimal, currency: str) -> SafeString:
    """`+1,234.50 USD`."""
    sign = "+" if amount > 0 else ""
    return format_html(
        '<span class="amount">{}{} <span class="currency">{}</span></span>',
        sign,
        amounts.display_amount(amount),
        currency,
    )


@register.filter
def anomaly_name(anomaly: AnomalyRow | Anomaly) -> str:
    """`Amazon CloudFront`; of another dimension than the service with its name: `Team: Payments`."""
    label = anomaly.name if isinstance(anomaly, AnomalyRow) else anomaly.label
    name = label or anomaly.value
    if anomaly.dimension == "service":
        return name
    return f"{capfirst(words(anomaly.dimension))}: {name}"


@register.filter
def against_expected(row: AnomalyRow) -> str:
    """`+120.0 %`: the impact as a share of what was expected."""
    share = ratio(row.impact, row.expected)
    return "" if share is None else f"{'+' if share > 0 else ''}{amounts.percent(share)}"


@register.filter
def at_least_nothing(amount: Decimal) -> Decimal:
    """The lower bound of a cost, which is not below 0 however wide the band."""
    return max(amount, Decimal(0))


@register.filter
def about_days(line: Line) -> str:
    """What a small drawing shows, to a screen reader."""
    return f"Cost of {line.name} by day around {line.row.first_day}, in {line.row.currency}"

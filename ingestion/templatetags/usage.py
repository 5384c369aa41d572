"""How templates write answers about usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from urllib.parse import urlencode

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from finops.lib.formats import numbers
from finops.lib.money import round_amount
from ingestion import charts
from ingestion.schemas import UsageRow

register = template.Library()

AGGREGATIONS = {
    "sum": "Sum",
    "average_of_days": "Average of days",
    "last": "Last value of each customer, added up",
    "max": "Highest value of each customer, added up",
}


@register.filter
def quantity(value: Decimal | None, unit: str | None = None) -> SafeString:
    """`1,234.5 calls`, at most six places. None is an em dash."""
    if value is None:
        return mark_safe('<span class="text-secondary">—</span>')
    return format_html('<span class="amount">{}</span>', numbers.quantity(round_amount(value), unit))


@register.filter
def headline_quantity(value: Decimal, unit: str | None) -> SafeString:
    """`4.4M calls`, for tiles; the exact quantity on hovering."""
    exact = round_amount(value)
    text, full = numbers.quantity(exact, unit, short=True), numbers.quantity(exact, unit)
    if text == full:
        return format_html('<span class="amount">{}</span>', full)
    return format_html('<data class="amount" value="{:f}" title="{}">{}</data>', exact, full, text)


@register.filter
def usage_row_name(row: UsageRow) -> str:
    return charts.row_name(row)


@register.filter
def aggregation_name(name: str) -> str:
    return AGGREGATIONS[name]


@register.filter
def group_title(group_by: str) -> str:
    """`dimension:region` → `region`, `customer` → `Customer`."""
    return "Customer" if group_by == "customer" else group_by.removeprefix("dimension:")


@register.filter
def with_value_filter(params: Mapping[str, Sequence[str]], value: str) -> str:
    """The same query narrowed to a value of the dimension it groups by, and grouped by customer."""
    filter_count = sum(1 for name in params if name.startswith("f") and name[1:].isdigit())
    (group_by,) = params["group_by"]
    filtered_params = {
        **params,
        f"f{filter_count}": [group_by],
        f"f{filter_count}v": [value],
        "group_by": ["customer"],
    }
    return "?" + urlencode(filtered_params, doseq=True)


@register.simple_tag
def customer_quantity(used: Mapping[str, Decimal], metric: str) -> SafeString:
    """A customer's quantity of a metric."""
    return quantity(used.get(metric))

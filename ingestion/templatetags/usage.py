"""Template tags for answers about usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from urllib.parse import urlencode

from django import template
from django.utils.safestring import SafeString

from finops.templatetags.console import quantity
from ingestion import charts
from ingestion.schemas import UsageRow

register = template.Library()

AGGREGATIONS = {
    "sum": "Sum",
    "average_of_days": "Average of days",
    "last": "Sum of each customer's last value",
    "max": "Sum of each customer's highest value",
}


@register.filter
def usage_row_name(row: UsageRow) -> str:
    return charts.row_name(row)


@register.filter
def aggregation_name(name: str) -> str:
    return AGGREGATIONS[name]


@register.filter
def group_title(group_by: str) -> str:
    """Return the title of a group: `dimension:region` → `region`, `customer` → `Customer`."""
    return "Customer" if group_by == "customer" else group_by.removeprefix("dimension:")


@register.filter
def with_value_filter(params: Mapping[str, Sequence[str]], value: str) -> str:
    """Return the query filtered by a value of its group dimension, and grouped by customer."""
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
    """Return a customer's quantity of a metric."""
    return quantity(used.get(metric))

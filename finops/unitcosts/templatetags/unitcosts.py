"""Template filters and tags for unit costs and quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from finops.costs.templatetags.costs import as_query
from finops.costs.views.choices import OPS
from finops.lib.formats import dates, numbers
from finops.unitcosts.answers import UnitCostRow, UnitCostTotal

register = template.Library()


@register.filter
def unit_price(unit_cost: Decimal | None, currency: str) -> SafeString:
    """Format a unit cost: `$12.34`, `$0.001234`, with four significant digits. None is an em dash."""
    if unit_cost is None:
        return mark_safe('<span class="text-secondary">—</span>')
    return format_html('<span class="amount">{}</span>', numbers.price(unit_cost, currency))


@register.filter
def customer_trend(params: Mapping[str, Sequence[str]], row: UnitCostRow) -> str:
    """Return the same question for one customer."""
    remaining = {name: values for name, values in params.items() if name not in ("mode", "limit")}
    return as_query({**remaining, "customers": [row.customer_id or ""]})


@register.filter
def of(mapping: Mapping[str, list[str]], key: str) -> list[str]:
    return mapping.get(key, [])


@register.filter
def unit_costs(total: UnitCostTotal) -> list[Decimal | None]:
    """Return the trend of a total, oldest first."""
    return [bucket.unit_cost for bucket in total.buckets]


@register.filter
def about_unit_costs(total: UnitCostTotal, name: str) -> str:
    """Describe a trend to a screen reader."""
    buckets = [bucket for bucket in total.buckets if bucket.unit_cost is not None]
    if not buckets:
        return f"{name}: no trend"
    parts = [
        f"{numbers.price(each.unit_cost or Decimal(0), each.currency)} on {dates.day(each.start_date)}"
        for each in (buckets[0], buckets[-1])
    ]
    return f"{name}: {parts[0]}, {parts[1]}"


_OPS = dict(OPS)


@register.filter
def filter_text(item: Any) -> str:
    """Format a filter, saved or requested: `service is EC2, RDS`."""
    fields = (
        item
        if isinstance(item, dict)
        else {"dimension": item.dimension, "op": item.op, "values": item.values}
    )
    return (
        f"{fields['dimension']} {_OPS.get(fields['op'], fields['op'])} {', '.join(fields['values'])}".strip()
    )

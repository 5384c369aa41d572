"""How templates write unit costs and quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from finops.costs.templatetags.costs import as_query
from finops.lib.amounts import MINUS
from finops.unitcosts.answers import UnitCostRow
from finops.unitcosts.queries.words import count, price

register = template.Library()


@register.filter
def unit_price(unit_cost: Decimal | None, currency: str) -> SafeString:
    """`12.34 USD`, `0.001234 USD`: four digits that count. None is an em dash."""
    if unit_cost is None:
        return mark_safe('<span class="text-secondary">—</span>')
    amount, _space, unit = price(unit_cost, currency).rpartition(" ")
    return format_html(
        '<span class="amount">{} <span class="currency">{}</span></span>', amount.replace("-", MINUS), unit
    )


@register.filter
def quantity(usage: Decimal | None) -> str:
    return "—" if usage is None else count(usage).replace("-", MINUS)


@register.filter
def customer_trend(params: Mapping[str, Sequence[str]], row: UnitCostRow) -> str:
    """The same question about one customer alone."""
    kept = {name: values for name, values in params.items() if name not in ("mode", "top")}
    return as_query({**kept, "customers": [row.customer_id or ""]})


@register.filter
def of(found: Mapping[str, list[str]], key: str) -> list[str]:
    return found.get(key, [])

"""The switch of currencies, and the rates behind a page's amounts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from django import template

from finops.exchange_rates.display import Display, UsedRates, used_rates
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.pages import switch_of
from finops.lib.errors import UserError

register = template.Library()

SHOWN_RATES: Final = 6


@register.inclusion_tag("exchange_rates/_switch.html", takes_context=True)
def currency_switch(context: template.Context) -> dict[str, Any]:
    """The switch of a page about cost, and the rates behind its amounts; nothing where there is nothing to choose."""
    request = context.get("request")
    switch = switch_of(request) if request is not None else None
    if request is None or switch is None:
        return {}
    display: Display = request.display
    used = _rates_behind(display)
    return {
        "switch": switch,
        "account": context.get("account"),
        "display": display,
        "rates": used.spans[:SHOWN_RATES],
        "more_rates": max(0, len(used.spans) - SHOWN_RATES),
        "own": used.own,
    }


def _rates_behind(display: Display) -> UsedRates:
    """None of a page that asked for no cost, and where the lake cannot say now."""
    try:
        return used_rates(display)
    except UserError:
        return UsedRates([], [])


@register.filter
def rate(value: Decimal) -> str:
    """A rate with all its digits, without zeros at the end."""
    return f"{value.normalize():f}"


@register.filter
def rate_source(value: str) -> str:
    """What a source of rates is called."""
    return str(ExchangeRate.Source(value).label)

"""Template tags of the currency switch, and of the rates of a page's amounts."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from django import template
from django.http import HttpRequest

from finops.exchange_rates.display import Display, UsedRates, used_rates
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.pages import display_of_page, switch_of
from finops.exchange_rates.rates import plain_rate
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import DateRange

register = template.Library()

SHOWN_RATES: Final = 6
BOARD_DAYS: Final = 30


@register.inclusion_tag("exchange_rates/_switch.html", takes_context=True)
def currency_switch(context: template.Context, is_update: bool = False) -> dict[str, Any]:
    """Render the switch of a page about cost, and the rates of the amounts of any page; nothing where there is nothing to
    select. `is_update`: it replaces the page's switch, in a response to htmx."""
    request = context.get("request")
    display = display_of_page(request) if request is not None else None
    if request is None or display is None:
        return {}
    days = _days_of(request, display)
    used = _rates_behind(display, days)
    return {
        "switch": switch_of(request),
        "is_update": is_update,
        "account": context.get("account"),
        "display": display,
        "rates": used.spans[:SHOWN_RATES],
        "more_rates": max(0, len(used.spans) - SHOWN_RATES),
        "own": used.own,
        "days": DateRange(*days) if days else None,
    }


def _days_of(request: HttpRequest, display: Display) -> tuple[date, date] | None:
    """The days whose cost the page queried; for a dashboard, whose widgets load later, the last 30."""
    match = request.resolver_match
    if display.days is None and match is not None and match.url_name == "dashboard":
        return clock.today() - timedelta(days=BOARD_DAYS), clock.today()
    return display.days


def _rates_behind(display: Display, days: tuple[date, date] | None) -> UsedRates:
    """The rates; none for a page without cost, and where the lake is unavailable."""
    try:
        return used_rates(display, days)
    except UserError:
        return UsedRates([], [])


@register.filter
def rate(value: Decimal) -> str:
    """A rate with all its digits, without zeros at the end."""
    return str(plain_rate(value))


@register.filter
def rate_source(value: str) -> str:
    """The label of a source of rates."""
    return str(ExchangeRate.Source(value).label)

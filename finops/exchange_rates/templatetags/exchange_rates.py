"""The switch of currencies, and the rates behind a page's amounts."""

from __future__ import annotations

from typing import Any

from django import template

from finops.exchange_rates.pages import switch_of

register = template.Library()


@register.inclusion_tag("exchange_rates/_switch.html", takes_context=True)
def currency_switch(context: template.Context) -> dict[str, Any]:
    """The switch of a page about cost; nothing where there is nothing to choose."""
    request = context.get("request")
    switch = switch_of(request) if request is not None else None
    return {"switch": switch, "account": context.get("account")} if switch else {}

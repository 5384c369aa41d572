"""Amounts in messages: for people, and for programs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from finops.lib import sentences
from finops.lib.money import ratio, round_amount


def amount(value: Decimal | None, currency: str) -> dict[str, Any] | None:
    """For programs: a JSON number of six places beside its currency; None where it is not known."""
    return None if value is None else {"amount": float(round_amount(value)), "currency": currency}


def signed_amount(value: Decimal, currency: str) -> str:
    """`+1,234.50 USD`."""
    return f"{'+' if value > 0 else ''}{sentences.money(value, currency)}"


def share(part: Decimal, whole: Decimal) -> str:
    """`12.3 %` of the whole; empty when that is 0."""
    value = ratio(part, whole)
    return "" if value is None else sentences.percent_text(value)


def amount_with_share(part: Decimal, whole: Decimal, currency: str) -> str:
    """`12.30 USD (12.3 %)`."""
    percent_text = share(part, whole)
    return (
        f"{sentences.money(part, currency)} ({percent_text})"
        if percent_text
        else sentences.money(part, currency)
    )

"""Amounts in messages: for people, and for programs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from finops.lib.formats import numbers
from finops.lib.money import ratio, round_amount


def amount(value: Decimal | None, currency: str) -> dict[str, Any] | None:
    """For programs: a JSON number of six places beside its currency; None where it is not known."""
    return None if value is None else {"amount": float(round_amount(value)), "currency": currency}


def signed_amount(value: Decimal, currency: str) -> str:
    """`+$1,234.50`."""
    return numbers.signed_money(value, currency)


def share(part: Decimal, whole: Decimal) -> str:
    """`12.3%` of the whole; empty when that is 0."""
    value = ratio(part, whole)
    return "" if value is None else numbers.percent(value)


def amount_with_share(part: Decimal, whole: Decimal, currency: str) -> str:
    """`$12.30 (12.3%)`."""
    text = numbers.money(part, currency)
    percent = share(part, whole)
    return f"{text} ({percent})" if percent else text

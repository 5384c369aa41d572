"""Amounts in messages: for people, and for programs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from finops.lib import spoken
from finops.lib.money import ratio, rounded


def amount(value: Decimal | None, currency: str) -> dict[str, Any] | None:
    """For programs: a JSON number of six places beside its currency; None where it is not known."""
    return None if value is None else {"amount": float(rounded(value)), "currency": currency}


def signed(value: Decimal, currency: str) -> str:
    """`+1,234.50 USD`."""
    return f"{'+' if value > 0 else ''}{spoken.money(value, currency)}"


def share(part: Decimal, whole: Decimal) -> str:
    """`12.3 %` of the whole; empty when that is 0."""
    found = ratio(part, whole)
    return "" if found is None else spoken.percent(found)


def with_share(part: Decimal, whole: Decimal, currency: str) -> str:
    """`12.30 USD (12.3 %)`."""
    said = share(part, whole)
    return f"{spoken.money(part, currency)} ({said})" if said else spoken.money(part, currency)

"""Amounts and shares as a sentence says them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

_WIDE = Context(prec=80, rounding=ROUND_HALF_EVEN)


def money(amount: Decimal, currency: str) -> str:
    """`1,234.50 USD`; what would read as 0.00 keeps six places."""
    places = Decimal("0.01") if amount.copy_abs() >= Decimal("0.005") or not amount else Decimal("0.000001")
    return f"{amount.quantize(places, context=_WIDE):,} {currency}"


def percent(share: Decimal) -> str:
    """`12.3 %`."""
    return f"{share.scaleb(2, _WIDE).quantize(Decimal('0.1'), context=_WIDE):,} %"


def listed(parts: list[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def by_currency(values: Sequence[tuple[str, str]]) -> str:
    """Values, each with its currency: `'EC2'`; of several, which cannot be compared, `'EC2' in USD and 'VMs' in EUR`."""
    if len(values) == 1:
        return repr(values[0][0])
    return listed([f"{value!r} in {currency}" for value, currency in values])


def cut(text: str, length: int) -> str:
    """The text, or its beginning and `…`."""
    return text if len(text) <= length else f"{text[: length - 1]}…"

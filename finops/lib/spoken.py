"""Amounts and shares as a sentence says them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


Part = tuple[str, Decimal, Decimal | None]
"""A part of a total: its name, its amount, its share."""


def largest_parts(
    parts: Sequence[Part], count: int, write: Callable[[Decimal], str], *, most: str = "most of it on "
) -> str:
    """`most of it on A (60.0 %) and B (40.0 %)`: the largest parts of a total with their shares.

    Where one is below zero, amounts cancel out and shares of the net mislead: the largest by size then stand with
    their signs, `the largest parts are Credits (-900.00 USD) and A (20.00 USD)`. Empty without parts.
    """
    named = sorted(parts, key=lambda part: part[1].copy_abs(), reverse=True)[:count]
    if any(amount < 0 for _name, amount, _share in named):
        signed = listed([f"{name} ({write(amount)})" for name, amount, _share in named])
        return f"the largest part{' is' if len(named) == 1 else 's are'} {signed}"
    shares = [name if share is None else f"{name} ({percent(share)})" for name, _amount, share in named]
    return f"{most}{listed(shares)}" if shares else ""


def by_currency(values: Sequence[tuple[str, str]]) -> str:
    """Values, each with its currency: `'EC2'`; of several, which cannot be compared, `'EC2' in USD and 'VMs' in EUR`."""
    if len(values) == 1:
        return repr(values[0][0])
    return listed([f"{value!r} in {currency}" for value, currency in values])


def cut(text: str, length: int) -> str:
    """The text, or its beginning and `…`."""
    return text if len(text) <= length else f"{text[: length - 1]}…"

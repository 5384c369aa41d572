"""How numbers, amounts and spans of time are written for people."""

from __future__ import annotations

from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal

_CENT = Decimal("0.01")
# The sign of typography: as wide as a digit, and no line breaks after it.
MINUS = "\N{MINUS SIGN}"


def display_amount(amount: Decimal | float) -> str:
    """Two decimals with thousands separated; below a cent, the first three digits that count."""
    value = Decimal(str(amount))
    if value and abs(value) < _CENT:
        small = f"{value:.3g}" if abs(value) < Decimal("0.000001") else f"{value:.6f}".rstrip("0")
        return small.replace("-", MINUS)
    return f"{value.quantize(_CENT, rounding=ROUND_HALF_EVEN):,}".replace("-", MINUS)


def display_number(value: Decimal | float) -> str:
    """A count or quantity: thousands separated, no zeros behind the point."""
    text = f"{Decimal(str(value)):,f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", MINUS)


def percent(ratio: Decimal | float) -> str:
    return f"{Decimal(str(ratio)) * 100:,.1f} %".replace("-", MINUS)


def filesize(count: int) -> str:
    """Bytes in the largest unit that leaves a whole part: `12.3 MB` (units of 1,000)."""
    size, unit = Decimal(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


def duration(seconds: float) -> str:
    """`Under 1 second`, `4.2 seconds`, `40 seconds`, `3 minutes`, `2 h 10 min`."""
    if seconds < 1:
        return "Under 1 second"
    if seconds < 10:
        return f"{seconds:.1f} seconds"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


_STEPS = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(span: timedelta) -> str:
    """`3 hours ago`; under a minute `just now`, in the future `in 3 hours`."""
    seconds = int(abs(span.total_seconds()))
    for size, name in _STEPS:
        count = seconds // size
        if count:
            words = f"{count} {name}{'' if count == 1 else 's'}"
            return f"{words} ago" if span.total_seconds() > 0 else f"in {words}"
    return "just now"

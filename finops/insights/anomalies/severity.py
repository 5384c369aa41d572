"""How much an anomaly matters, in money. Pure."""

from __future__ import annotations

import calendar
from decimal import Decimal

from finops.insights.anomalies.series import Found
from finops.lib.money import added

DEFAULT_SHARE = Decimal("0.001")
"""Smallest impact where the account set none: this share of what its last 30 days cost in that currency."""

MEDIUM, HIGH = 3, 10
"""Severity: an impact of so many smallest impacts."""

RECENT = 7

_MICRO = Decimal("0.000001")


def severity(impact: Decimal, minimum: Decimal) -> str:
    """high, medium or low, by size; where the smallest impact is 0, everything is high."""
    size = impact.copy_abs()
    if size >= minimum * HIGH:
        return "high"
    return "medium" if size >= minimum * MEDIUM else "low"


def exact(value: float) -> Decimal:
    """What the detector expects, as money of six places."""
    return Decimal(repr(value)).quantize(_MICRO)


def month_end_impact(found: Found, impact: Decimal) -> Decimal:
    """The impact when the last day's month ends, if it goes on like its last seven days; as it is, if it has ended."""
    if not found.ongoing:
        return impact
    days = found.days[-RECENT:]
    left = calendar.monthrange(found.last.year, found.last.month)[1] - found.last.day
    daily = added(exact(day.excess) for day in days) / len(days)
    return added([impact, (daily * left).quantize(_MICRO)])

"""From which impact on an anomaly is said, and how much it matters, in money. Pure."""

from __future__ import annotations

import calendar
from decimal import Context, Decimal

from finops.insights.anomalies.series import Detection
from finops.lib.money import exact_sum

ACCOUNT_SHARE = Decimal("0.001")
"""Severity is on the account's scale: multiples of the smallest impact that it set, else of this share of its 30 days."""

SCOPE_SHARE = Decimal("0.01")
"""Smallest impact where the account set none: this share of what the service itself cost in 30 days, at most
ACCOUNT_SHARE of the account's …"""

BOTH_SHARE = Decimal("0.0003")
"""… at least this share of the geometric mean of the two: 3 % of a service that is a ten thousandth of the account. A
share of the account alone would hide +200 % of most of its services."""

LEAST = Decimal(1)
"""… and at least one unit of the currency: less is nobody's time."""

MEDIUM, HIGH = 3, 10

RECENT = 7

_MICRO = Decimal("0.000001")
_CONTEXT = Context(prec=50)


def default_minimum(account_month: Decimal, scope_month: Decimal) -> Decimal:
    """The smallest impact of a scope (a service of a source, a team …) where the account set none, from what 30 days
    of it and of the account cost."""
    whole, own = account_month.copy_abs(), scope_month.copy_abs()
    both = _CONTEXT.sqrt(_CONTEXT.multiply(whole, own))
    share = min(_CONTEXT.multiply(own, SCOPE_SHARE), _CONTEXT.multiply(whole, ACCOUNT_SHARE))
    return max(LEAST, share, _CONTEXT.multiply(both, BOTH_SHARE)).quantize(_MICRO)


def severity(impact: Decimal, scale: Decimal) -> str:
    """high from ten times, medium from three times `scale`, else low; where that is 0, everything is high."""
    size = impact.copy_abs()
    if size >= scale * HIGH:
        return "high"
    return "medium" if size >= scale * MEDIUM else "low"


def exact(value: float) -> Decimal:
    """What the detector expects, as money of six places."""
    return Decimal(repr(value)).quantize(_MICRO)


def month_end_impact(detection: Detection, impact: Decimal) -> Decimal:
    """The impact when the last day's month ends, if it goes on like its last seven days; as it is, if it has ended."""
    if not detection.ongoing:
        return impact
    days = detection.days[-RECENT:]
    remaining_days = calendar.monthrange(detection.last.year, detection.last.month)[1] - detection.last.day
    daily = exact_sum(exact(day.excess) for day in days) / len(days)
    return exact_sum([impact, (daily * remaining_days).quantize(_MICRO)])

"""A round amount to begin from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from finops.lib.money import exact_sum, ratio


def suggested_amount(spent: Sequence[Decimal]) -> Decimal | None:
    """The mean of what earlier periods spent, up to the next amount of two digits: 263,120 → 270,000. None without."""
    mean = ratio(exact_sum(spent), Decimal(len(spent)))
    if mean is None or mean <= 0:
        return None
    step = Decimal(1).scaleb(max(mean.adjusted() - 1, -2))
    rounded = (mean / step).to_integral_value(ROUND_CEILING) * step
    return rounded.quantize(Decimal("0.01"))

"""Effects that change an amount: volume, price, new and ended SKUs, credits, refunds. Pure and exact: the parts of a
change add up to it to the last digit.

For one SKU in one unit, with cost C and quantity Q before (0) and now (1), the volume effect is (Q1 - Q0) · C0 / Q0,
the additional quantity at the old price, and the price effect is the rest, Q1 · (C1 / Q1 - C0 / Q0): the usual price
and volume variance, with the mixed term in the price.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import NamedTuple

from finops.costs.queries.spend_lake import CREDITS, REFUNDS
from finops.insights.spend_change.lake import MeteredSum
from finops.lib.money import MONEY_SCALE, exact_difference, exact_sum

_WIDE = Context(prec=80, rounding=ROUND_HALF_EVEN)
_STEP = Decimal(1).scaleb(-MONEY_SCALE)
ZERO = Decimal(0)

VOLUME, PRICE, NEW, GONE, UNMEASURED = "volume", "price", "new", "gone", "unmeasured"
EFFECTS = (VOLUME, PRICE, NEW, GONE, CREDITS, REFUNDS, UNMEASURED)


class Parts(NamedTuple):
    """Effects of a change. `credits` and `refunds`: lines that reduce the bill, on either side; any other negative
    line that is on one side only is a refund too. `unmeasured`: lines on both sides without a quantity, such as fees.
    """

    volume: Decimal = ZERO
    price: Decimal = ZERO
    new: Decimal = ZERO
    gone: Decimal = ZERO
    credits: Decimal = ZERO
    refunds: Decimal = ZERO
    unmeasured: Decimal = ZERO

    @property
    def whole(self) -> Decimal:
        return exact_sum(each for each in self if each)

    @property
    def main(self) -> str:
        """The largest effect."""
        return max(EFFECTS, key=lambda name: abs(getattr(self, name)))


def parts_of(item: MeteredSum) -> Parts:
    """Return the effects on one SKU in one unit."""
    now, before = item.now, item.before
    change = exact_difference(now.amount, before.amount)
    if item.part == CREDITS:
        return Parts(credits=change)
    if item.part == REFUNDS:
        return Parts(refunds=change)
    if not before.is_there:
        return Parts(new=change) if change >= 0 else Parts(refunds=change)
    if not now.is_there:
        return Parts(gone=change) if change <= 0 else Parts(refunds=change)
    if item.unit is None or before.quantity <= 0 or now.quantity <= 0:
        return Parts(unmeasured=change)
    more = _WIDE.subtract(now.quantity, before.quantity)
    at_old_price = _WIDE.divide(_WIDE.multiply(more, before.amount), before.quantity)
    volume = at_old_price.quantize(_STEP, context=_WIDE)
    return Parts(volume=volume, price=exact_difference(change, volume))


def sum_parts(parts: Iterable[Parts]) -> Parts:
    """Return the sum of effects, each added up."""
    every = list(parts)
    # Most changes have one or two causes, and adding nothing takes as long as adding something.
    return Parts(*(exact_sum(part for part in column if part) for column in zip(*every, strict=True)))


def main_of(main: str, change: Decimal, *, now: bool, before: bool) -> str:
    """Return the effect in words. A credit that begins lowers the bill and one that ends raises it, so that "new" and
    "ended" would mislead. `now` and `before` tell on which sides such lines are."""
    if main not in (CREDITS, REFUNDS):
        return main
    if change < 0:
        return f"{main} began" if not before else f"more {main}"
    return f"{main} ended" if not now else f"fewer {main}"

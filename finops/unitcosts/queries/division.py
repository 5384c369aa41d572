"""Cost divided by usage. Pure: exact in, 38 digits out, and a reason where there is nothing to divide by."""

from __future__ import annotations

from decimal import Context, Decimal

from finops.lib.money import ratio

NOT_USED = "There is no usage in these days."
ZERO_USAGE = "Usage is 0 in these days."
NEGATIVE_USAGE = "Usage is negative in these days: corrections outweigh what was counted."
NO_COST_DATA = "The account has no cost data for these days."

SMALL = Decimal("0.001")
"""A unit cost below this loses digits that count when it is rounded to six places."""

MILLION = 6

_WIDE = Context(prec=60)


def divide_cost(
    cost: Decimal | None, usage: Decimal | None, *, per: int = 1, unused: str = NOT_USED
) -> tuple[Decimal | None, str]:
    """(cost of `per` units, "") or (None, why not). The product is exact, the quotient is rounded once.

    A cost that credits made 0 or negative is divided as it is.
    """
    if usage is None:
        return None, unused
    if cost is None:
        return None, NO_COST_DATA
    if usage <= 0:
        return None, NEGATIVE_USAGE if usage else ZERO_USAGE
    return ratio(_WIDE.multiply(cost, Decimal(per)), usage), ""


def per_million(unit_cost: Decimal | None, *, per: int = 1) -> Decimal | None:
    """The cost of a million units, for unit costs (of one unit) that six places would round away."""
    if per > 1 or not unit_cost or unit_cost.copy_abs() >= SMALL:
        return None
    return _WIDE.scaleb(unit_cost, MILLION)

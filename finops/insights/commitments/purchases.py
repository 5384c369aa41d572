"""The cost of usage under a commitment to an amount per hour. Pure, exact Decimals.

A commitment of C per hour at a discount d on on-demand prices covers usage worth V = C ÷ (1 - d) on demand in each hour, whether it
is used or not (AWS Savings Plans, https://docs.aws.amazon.com/savingsplans/latest/userguide/what-is-savings-plans.html; committed use
discounts of Google Cloud and savings plans of Azure alike). In an hour whose usage would cost o on demand:

    cost = C + max(0, o - V),    saving = min(o, V) - C

Hours are never netted against each other: unused commitment of a night is lost. Where a bill has days alone, min(sum of o, 24 V) is at
least the sum over hours of min(o, V), so a day overstates the saving; whoever shows it has to say so.

The commitment pays off in a period where it is used for more than 1 - d of it (break-even utilization): saving > 0 <=> covered ÷ V > 1 - d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final, NamedTuple

from finops.lib.money import exact_difference, exact_product, exact_sum, ratio

DAY_HOURS: Final = 24
_CONTEXT: Final = Context(prec=60, rounding=ROUND_DOWN)
_PLACES: Final = Decimal(1).scaleb(-18)
_NOTHING: Final = Decimal(0)


class UsageSlot(NamedTuple):
    """What usage of an hour, or of a day that is not known by hour, costs on demand."""

    hours: int
    on_demand: Decimal


def covered_per_hour(per_hour: Decimal, discount: Decimal) -> Decimal:
    """V: what a commitment covers in an hour, at on-demand prices, to 18 places. `discount` is above 0 and below 1."""
    return _CONTEXT.quantize(_CONTEXT.divide(per_hour, 1 - discount), _PLACES)


def hours_of(days: int) -> int:
    return days * DAY_HOURS


@dataclass(frozen=True)
class PurchaseOutcome:
    """Over all hours of some days, with and without usage. `capacity` is what could be covered, at on-demand prices."""

    hours: int
    committed: Decimal
    capacity: Decimal
    covered: Decimal
    on_demand: Decimal
    """Of all usage that it could be for."""

    @property
    def saving(self) -> Decimal:
        return exact_difference(self.covered, self.committed)

    @property
    def utilization(self) -> Decimal | None:
        return ratio(self.covered, self.capacity)

    @property
    def coverage(self) -> Decimal | None:
        return ratio(self.covered, self.on_demand)


def purchase_outcome(
    slots: Sequence[UsageSlot], hours: int, per_hour: Decimal, capacity_per_hour: Decimal
) -> PurchaseOutcome:
    """`hours`: of all days, also those without a slot. Usage below 0, of corrections, is not covered."""
    return PurchaseOutcome(
        hours=hours,
        committed=exact_product(per_hour, Decimal(hours)),
        capacity=exact_product(capacity_per_hour, Decimal(hours)),
        covered=exact_sum(covered_in(slot, capacity_per_hour) for slot in slots),
        on_demand=exact_sum(max(slot.on_demand, _NOTHING) for slot in slots),
    )


def covered_in(slot: UsageSlot, capacity_per_hour: Decimal) -> Decimal:
    return min(max(slot.on_demand, _NOTHING), exact_product(capacity_per_hour, Decimal(slot.hours)))

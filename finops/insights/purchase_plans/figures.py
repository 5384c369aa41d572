"""The hourly amount to commit to, and the savings that this advice would have made. Pure, exact Decimals.

On-demand usage of an hour is a random o, and a commitment that covers V per hour at a discount d saves min(o, V) - (1 - d) V in it
(`finops.insights.commitments.purchases`). Over a window of hours that is concave in V, and largest where P(o > V) falls below 1 - d:
at the d-quantile of the hours, those without usage included. That is the critical fractile of the newsvendor (Arrow, Harris and
Marschak, Optimal Inventory Policy, Econometrica 1951), with cost 1 - d of a unit too many and d of one too few.

* Vendor's rule: that quantile of the last 7, 30 or 60 days, which is what AWS recommends: the hourly commitment that would have saved
  most in the lookback period (https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-recommendations.html).
* Ours: the lowest of the three. Growth has to last before it is committed to for a year, and a fall counts within a week; like the
  online reservation rules that buy only what past usage has paid for (Wang, Li and Liang, To Reserve or Not to Reserve: Optimal Online
  Multi-Instance Acquisition in IaaS Clouds, ICAC 2013), but without their bound.

Back-test: at the start of each month a rule sees only the days before it, and buys what is missing to its advice. What is bought stays
for the rest of the twelve months, so usage that falls leaves it unused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_DOWN, Context, Decimal
from itertools import pairwise
from typing import Final

from finops.insights.commitments.purchases import (
    DAY_HOURS,
    PurchaseOutcome,
    UsageSlot,
    hours_of,
    purchase_outcome,
)
from finops.lib.money import exact_difference, exact_product, exact_sum
from finops.lib.periods import DateRange, each_day

WINDOWS: Final = (7, 30, 60)
"""Lookback periods of AWS, in days."""

FALL_STEPS: Final = 1000
"""Resolution of `tolerated_fall`."""

_CONTEXT: Final = Context(prec=60, rounding=ROUND_DOWN)
_PLACES: Final = Decimal(1).scaleb(-18)
_NOTHING: Final = Decimal(0)

Usage = Mapping[date, Sequence[UsageSlot]]
"""On-demand usage that a commitment could cover, by day."""


def slots_of(usage: Usage, days: DateRange) -> list[UsageSlot]:
    return [slot for day in each_day(days) for slot in usage.get(day, ())]


def best_capacity(slots: Sequence[UsageSlot], hours: int, discount: Decimal) -> Decimal:
    """V: the largest quantile of the hours that saves most; 0 if none saves. `hours`: the number of hours of all
    days, also those without usage."""
    levels = sorted((_per_hour(slot), slot.hours) for slot in slots if slot.on_demand > 0)
    threshold = exact_product(discount, Decimal(hours))
    below = Decimal(hours - sum(count for _, count in levels))
    if below > threshold:
        return _NOTHING
    for level, count in levels:
        below = exact_sum([below, Decimal(count)])
        if below > threshold:
            return level
    return levels[-1][0] if levels else _NOTHING


def _per_hour(slot: UsageSlot) -> Decimal:
    return _CONTEXT.quantize(_CONTEXT.divide(slot.on_demand, Decimal(slot.hours)), _PLACES)


@dataclass(frozen=True)
class PurchaseRule:
    """A rule that recommends the lowest of the best commitments over windows of days; with one window it is the
    vendor's rule."""

    windows: tuple[int, ...]

    def capacity(self, usage: Usage, before: date, first: date, discount: Decimal) -> Decimal | None:
        """The capacity per hour to cover, from the days before a day; None if the cost begins within a window."""
        if before - timedelta(days=max(self.windows)) < first:
            return None
        return min(window_capacity(usage, before, days, discount) for days in self.windows)


PLAN_RULE: Final = PurchaseRule(WINDOWS)
VENDOR: Final = tuple(PurchaseRule((days,)) for days in WINDOWS)


def window_days(before: date, days: int) -> DateRange:
    return DateRange(before - timedelta(days=days), before - timedelta(days=1))


def window_capacity(usage: Usage, before: date, days: int, discount: Decimal) -> Decimal:
    return best_capacity(slots_of(usage, window_days(before, days)), hours_of(days), discount)


@dataclass(frozen=True)
class TestedMonth:
    """A month under a rule. `capacity` is the commitment held in it; `outcome` is None if the rule could not advise
    yet."""

    days: DateRange
    capacity: Decimal
    outcome: PurchaseOutcome | None

    @property
    def saving(self) -> Decimal:
        return self.outcome.saving if self.outcome else _NOTHING


def back_test(
    rule: PurchaseRule, usage: Usage, months: Sequence[DateRange], first: date, discount: Decimal
) -> list[TestedMonth]:
    """Each month, as if its advice was followed on its first day. `first`: the first day with cost."""
    tested: list[TestedMonth] = []
    capacity = _NOTHING
    for month in months:
        advice = rule.capacity(usage, month.start, first, discount)
        if advice is None:
            tested.append(TestedMonth(month, _NOTHING, None))
            continue
        capacity = max(capacity, advice)
        tested.append(TestedMonth(month, capacity, outcome_of(usage, month, capacity, discount)))
    return tested


def outcome_of(usage: Usage, days: DateRange, capacity: Decimal, discount: Decimal) -> PurchaseOutcome:
    per_hour = exact_product(capacity, exact_difference(Decimal(1), discount))
    return purchase_outcome(slots_of(usage, days), hours_of(days.days), per_hour, capacity)


def tolerated_fall(
    outcome_slots: Sequence[UsageSlot], hours: int, per_hour: Decimal, capacity: Decimal
) -> Decimal:
    """The share by which all usage may fall, in steps of 0.1 %, before the commitment costs as much as on demand. 0:
    it already does."""
    low, high = 0, FALL_STEPS
    while low < high:
        middle = (low + high + 1) // 2
        left = Decimal(FALL_STEPS - middle).scaleb(-3)
        slots = [UsageSlot(slot.hours, exact_product(slot.on_demand, left)) for slot in outcome_slots]
        if purchase_outcome(slots, hours, per_hour, capacity).saving >= 0:
            low = middle
        else:
            high = middle - 1
    return Decimal(low).scaleb(-3)


def largest_fall(usage: Usage, months: Sequence[DateRange]) -> Decimal:
    """The largest share by which on-demand usage per day fell from one month to the next; 0 if it never did."""
    daily = [_CONTEXT.divide(on_demand(slots_of(usage, month)), Decimal(month.days)) for month in months]
    falls = [
        exact_difference(Decimal(1), _CONTEXT.divide(after, before))
        for before, after in pairwise(daily)
        if before > 0
    ]
    return _CONTEXT.quantize(max([_NOTHING, *falls]), Decimal("0.0001"))


def on_demand(slots: Iterable[UsageSlot]) -> Decimal:
    return exact_sum(slot.on_demand for slot in slots)


def day_slots(by_hour: Mapping[object, Decimal], day_amount: Decimal | None) -> list[UsageSlot]:
    """The slots of a day: by hour, or one slot if a part of the usage has no hour."""
    if day_amount is not None:
        return [UsageSlot(DAY_HOURS, exact_sum([day_amount, *by_hour.values()]))]
    return [UsageSlot(1, amount) for amount in by_hour.values()]

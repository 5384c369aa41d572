"""Effects of assumptions on sums of lines. Pure: exact Decimal arithmetic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from finops.insights.commitments.purchases import DAY_HOURS, UsageSlot
from finops.insights.simulation.lake import COVERED, NO_RULE, UNUSED, USAGE, SimulationSum
from finops.insights.simulation.prices import PriceChanges
from finops.lib.money import exact_difference, exact_product, exact_sum, ratio

_NOTHING: Final = Decimal(0)
_DISCOUNT_PLACES: Final = Decimal("0.000001")


class Assumption(NamedTuple):
    """The assumption that an effect belongs to: its kind, in the order of application, and its place in the question."""

    kind: int
    place: int = 0


END, GROWTH, PRICE, PURCHASE = range(4)


@dataclass(frozen=True)
class SumEffect:
    """The effects on a sum: the change by assumption, its on-demand part after them, and why it cannot be priced."""

    changes: tuple[tuple[Assumption, Decimal], ...] = ()
    on_demand: Decimal = _NOTHING
    reason: str = ""

    @property
    def is_priced(self) -> bool:
        return not self.reason


NO_CONTRACTED: Final = "covered by a commitment, without a contracted cost"


def effect_of(each: SimulationSum, shares: Sequence[Decimal], prices: PriceChanges) -> SumEffect:
    """The effects on one sum. `shares`: growth by rule, 0.1 for 10 %. Commitments end, then usage grows, then prices
    change; the changes add up to the total change.

    A commitment that stays covers the same usage as before. Usage above that is on demand; usage below leaves the
    commitment unused at the same cost.
    """
    if each.line == UNUSED and each.ends:
        return SumEffect(((Assumption(END), -each.cost),))
    if each.line not in (USAGE, COVERED):
        return SumEffect()
    share = _NOTHING if each.rule == NO_RULE else shares[each.rule]
    stays = each.line == COVERED and not each.ends
    # How much of the usage of today is on demand then.
    factor = max(share, _NOTHING) if stays else exact_sum([Decimal(1), share])
    if stays and not factor and not prices.moves_region(each.change):
        return SumEffect()
    on_demand = each.cost if each.line == USAGE else each.contracted
    if on_demand is None:
        return SumEffect(reason=NO_CONTRACTED)
    ended = exact_difference(on_demand, each.cost) if each.line == COVERED and each.ends else _NOTHING
    changes = [
        (Assumption(END), ended),
        (Assumption(GROWTH, each.rule), exact_product(on_demand, factor if stays else share)),
    ]
    if each.change == NO_RULE:
        return SumEffect(_not_zero(changes), exact_product(on_demand, factor))
    price = prices.reprice(each, on_demand)
    if price.cost is None:
        return SumEffect(reason=price.reason)
    moved = exact_product(exact_difference(price.cost, on_demand), factor)
    changes.append((Assumption(PRICE, each.change), moved))
    return SumEffect(_not_zero(changes), exact_product(price.cost, factor))


def _not_zero(changes: Sequence[tuple[Assumption, Decimal]]) -> tuple[tuple[Assumption, Decimal], ...]:
    return tuple((assumption, amount) for assumption, amount in changes if amount)


Simulated = tuple[SimulationSum, SumEffect]


def change_by_assumption(effects: Sequence[SumEffect]) -> dict[Assumption, Decimal]:
    """The exact sums of the assumptions that change anything."""
    amounts: dict[Assumption, list[Decimal]] = defaultdict(list)
    for effect in effects:
        for assumption, amount in effect.changes:
            amounts[assumption].append(amount)
    return {assumption: exact_sum(amounts[assumption]) for assumption in sorted(amounts)}


@dataclass(frozen=True)
class PurchaseSlots:
    """The usage that one purchase could cover, by hour, and by day for days without hourly usage."""

    slots: Sequence[UsageSlot]
    days: int
    days_by_day: int


def purchase_slots(
    simulated: Sequence[Simulated], currency: str, place: int, days: Collection[date]
) -> PurchaseSlots:
    """Slots of the on-demand usage of these days. A day with one line that is not hourly counts as a whole."""
    amounts: dict[date, dict[datetime | None, list[Decimal]]] = defaultdict(lambda: defaultdict(list))
    for each, effect in simulated:
        is_meant = (each.currency, each.purchase) == (currency, place) and effect.is_priced
        if is_meant and effect.on_demand and each.day is not None and each.day in days:
            amounts[each.day][each.hour].append(effect.on_demand)
    slots = []
    for hours in amounts.values():
        if None in hours:
            slots.append(
                UsageSlot(DAY_HOURS, exact_sum(amount for part in hours.values() for amount in part))
            )
        else:
            slots += [UsageSlot(1, exact_sum(part)) for part in hours.values()]
    return PurchaseSlots(slots, len(amounts), sum(None in hours for hours in amounts.values()))


def covered_discount(sums: Sequence[SimulationSum], currency: str, place: int) -> Decimal | None:
    """1 - cost ÷ contracted cost of the covered lines that a purchase applies to; None if no line has both."""
    lines = [
        each
        for each in sums
        if each.line == COVERED and (each.currency, each.purchase) == (currency, place) and each.contracted
    ]
    share = ratio(
        exact_sum(each.cost for each in lines), exact_sum(each.contracted or _NOTHING for each in lines)
    )
    return None if share is None else exact_difference(Decimal(1), share.quantize(_DISCOUNT_PLACES))

"""What sums of lines would be under other assumptions. Pure: exact Decimal arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from finops.insights.simulation.lake import COVERED, NO_RULE, UNUSED, USAGE, SimulationSum
from finops.lib.money import exact_difference, exact_product, exact_sum

COMMITMENTS_END: Final = -2
"""The place of the assumption that commitments end, beside those of the growth rules."""

_NOTHING: Final = Decimal(0)


@dataclass(frozen=True)
class SumEffect:
    """What becomes of a sum: the change by assumption, or that it cannot be priced."""

    changes: tuple[tuple[int, Decimal], ...] = ()
    is_priced: bool = True


def effect_of(each: SimulationSum, shares: Sequence[Decimal], *, ends: bool) -> SumEffect:
    """`shares`: growth by rule, 0.1 for 10 %. First commitments end, then usage grows: both together add up.

    A commitment that stays covers what it covered. More usage than that is at contracted prices; less leaves the commitment
    unused, which costs the same.
    """
    share = _NOTHING if each.rule == NO_RULE else shares[each.rule]
    if each.line == USAGE:
        return _growth(each.rule, exact_product(each.cost, share))
    if each.line == UNUSED and ends:
        return SumEffect(((COMMITMENTS_END, -each.cost),))
    if each.line != COVERED:
        return SumEffect()
    if not ends and share <= 0:
        return SumEffect()
    if each.contracted is None:
        return SumEffect(is_priced=False)
    growth = _growth(each.rule, exact_product(each.contracted, share))
    if not ends:
        return growth
    return SumEffect(((COMMITMENTS_END, exact_difference(each.contracted, each.cost)), *growth.changes))


def _growth(rule: int, change: Decimal) -> SumEffect:
    return SumEffect(((rule, change),) if change else ())


def change_by_assumption(effects: Sequence[SumEffect]) -> dict[int, Decimal]:
    """The exact sums, for the assumptions that change anything."""
    places = {place for effect in effects for place, _ in effect.changes}
    return {
        place: exact_sum(change for effect in effects for at, change in effect.changes if at == place)
        for place in sorted(places)
    }

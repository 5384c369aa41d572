"""Charges that come once or once a month, where they decide a comparison of parts of months. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from decimal import Decimal

from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.sentences import money, percent_text

Sides = tuple[Decimal, Decimal]
"""What is on the later side of a comparison, and on the earlier."""

_MOST = Decimal(2)


def one_sided_of(
    current: Decimal, previous: Decimal, charges: Iterable[tuple[Hashable, Sides]]
) -> Decimal | None:
    """What charges on one side only add to a change, where without them its direction or most of it would be another;
    None where they do not decide it. `charges` are by what they are charged for."""
    sides_by_charge: dict[Hashable, list[Sides]] = defaultdict(list)
    for what, sides in charges:
        sides_by_charge[what].append(sides)
    added_up = [
        (exact_sum(now for now, _ in sides), exact_sum(before for _, before in sides))
        for sides in sides_by_charge.values()
    ]
    one_sided = exact_sum(exact_difference(now, before) for now, before in added_up if not now or not before)
    change = exact_difference(current, previous)
    change_without = exact_difference(change, one_sided)
    turns = (change > 0) != (change_without > 0) and bool(change) and bool(change_without)
    decides = turns or one_sided.copy_abs() * _MOST > change.copy_abs()
    return one_sided if one_sided and decides else None


def one_sided_words(current: Decimal, previous: Decimal, one_sided: Decimal, currency: str) -> str:
    """A clause that says so, with the amount and the change without it."""
    change_without = exact_difference(exact_difference(current, previous), one_sided)
    share = ratio(change_without, _rest(previous, one_sided).copy_abs())
    word = "more" if change_without > 0 else "less"
    rest = (
        "nothing changes"
        if not change_without
        else f"it is {money(change_without.copy_abs(), currency)} {word}"
        + (f" ({percent_text(share.copy_abs())})" if share is not None else "")
    )
    side = "these days" if one_sided > 0 else "the earlier days"
    return (
        f"; {money(one_sided.copy_abs(), currency)} of that are charges for a month or once, in {side} only: without them "
        f"{rest}"
    )


def _rest(previous: Decimal, one_sided: Decimal) -> Decimal:
    """The earlier amount without such charges."""
    return previous if one_sided > 0 else exact_difference(previous, one_sided.copy_abs())

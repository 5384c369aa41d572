"""Charges that come once or once a month, where they decide a comparison of parts of months. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from decimal import Decimal

from finops.lib.money import added, ratio, subtracted
from finops.lib.spoken import money, percent

Sides = tuple[Decimal, Decimal]
"""What is on the later side of a comparison, and on the earlier."""

_MOST = Decimal(2)


def one_sided_of(
    current: Decimal, previous: Decimal, charges: Iterable[tuple[Hashable, Sides]]
) -> Decimal | None:
    """What charges on one side only add to a change, where without them its direction or most of it would be another;
    None where they do not decide it. `charges` are by what they are charged for."""
    found: dict[Hashable, list[Sides]] = defaultdict(list)
    for what, sides in charges:
        found[what].append(sides)
    added_up = [
        (added(now for now, _ in sides), added(before for _, before in sides)) for sides in found.values()
    ]
    moved = added(subtracted(now, before) for now, before in added_up if not now or not before)
    change = subtracted(current, previous)
    without = subtracted(change, moved)
    turns = (change > 0) != (without > 0) and bool(change) and bool(without)
    decides = turns or moved.copy_abs() * _MOST > change.copy_abs()
    return moved if moved and decides else None


def one_sided_words(current: Decimal, previous: Decimal, moved: Decimal, currency: str) -> str:
    """A clause that says so, with the amount and the change without it."""
    without = subtracted(subtracted(current, previous), moved)
    share = ratio(without, _rest(previous, moved).copy_abs())
    word = "more" if without > 0 else "less"
    rest = (
        "nothing changes"
        if not without
        else f"it is {money(without.copy_abs(), currency)} {word}"
        + (f" ({percent(share.copy_abs())})" if share is not None else "")
    )
    side = "these days" if moved > 0 else "the earlier days"
    return (
        f"; {money(moved.copy_abs(), currency)} of that are charges for a month or once, in {side} only: without them "
        f"{rest}"
    )


def _rest(previous: Decimal, moved: Decimal) -> Decimal:
    """The earlier amount without such charges."""
    return previous if moved > 0 else subtracted(previous, moved.copy_abs())

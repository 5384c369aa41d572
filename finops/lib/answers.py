"""The parts that answers about cost and answers about usage share.

Docstrings of these types are in the OpenAPI document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from datetime import date
from typing import TypeVar

import msgspec


class AccountRef(msgspec.Struct, frozen=True, kw_only=True):
    """The account."""

    slug: str
    name: str


class AccountAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer begins with. `summary`: its first sentence, which says what is left out."""

    account: AccountRef
    summary: str


class AppliedPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """Both days inside; unfinished: the last ones lack complete data."""

    start_date: date
    end_date: date
    days: int
    name: str
    unfinished: bool


Answer = TypeVar("Answer")
Element = TypeVar("Element")
Item = TypeVar("Item", bound=Hashable)


def largest_that_fits(
    make: Callable[[int], Answer], count: int, fits: Callable[[Answer], bool] | None
) -> Answer:
    """Return `make(count)`, halving the count until the result fits; the result of count 1 is returned whatever its size.
    For answers that cost more to make than to measure."""
    answer = make(count)
    while fits is not None and count > 1 and not fits(answer):
        count //= 2
        answer = make(count)
    return answer


def fit_to_size(
    make: Callable[[int], Answer], fits: Callable[[Answer], bool], most: int, *, least: int = 1
) -> Answer | None:
    """Return `make(count)` with the largest count up to `most` that fits; None when not even `least` does.

    By bisection: a few encodings, not one for each count. Assumes that a result that fits with a count fits with fewer.
    """
    best = None
    while least <= most:
        middle = (least + most) // 2
        answer = make(middle)
        if fits(answer):
            best, least = answer, middle + 1
        else:
            most = middle - 1
    return best


def group_by(items: Iterable[Element], key: Callable[[Element], Item]) -> dict[Item, list[Element]]:
    """Group the items by `key(item)`; groups and items keep the order of the input."""
    groups: dict[Item, list[Element]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def places_within(items: Iterable[Item], part: Callable[[Item], Hashable]) -> dict[Item, int]:
    """Return the position of each item, from 0, among the items of the same part. The items are in order and all different."""
    counts: Counter[Hashable] = Counter()
    places = {}
    for item in items:
        places[item] = counts[part(item)]
        counts[part(item)] += 1
    return places

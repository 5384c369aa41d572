"""The parts that answers about cost and answers about usage share.

Docstrings of these types go to every assistant in the tools' output schemas, so they are short.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TypeVar

import msgspec


class AccountRef(msgspec.Struct, frozen=True, kw_only=True):
    """The account."""

    slug: str
    name: str


class PeriodUsed(msgspec.Struct, frozen=True, kw_only=True):
    """Both days inside; unfinished: the last ones lack complete data."""

    start_date: date
    end_date: date
    days: int
    name: str
    unfinished: bool


Answer = TypeVar("Answer")


def largest_that_fits(
    make: Callable[[int], Answer], count: int, fits: Callable[[Answer], bool] | None
) -> Answer:
    """`make(count)`, or made with half as many until one fits; what is made with 1 is taken as it is."""
    answer = make(count)
    while fits is not None and count > 1 and not fits(answer):
        count //= 2
        answer = make(count)
    return answer

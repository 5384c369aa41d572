"""The parts that answers about cost and answers about usage share.

Docstrings of these types go to every assistant in the tools' output schemas, so they are short.
"""

from __future__ import annotations

from datetime import date

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

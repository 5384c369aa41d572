"""What was decided about an import: by a person who reviewed it, or by a sync, which knows of which month its files are. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

import msgspec

from finops.costs.focus.report import MonthChange

ADD: Final = "add"
REPLACE: Final = "replace"


class ReviewedSums(msgspec.Struct, frozen=True, array_like=True):
    """What the source had of a month in one currency when somebody decided."""

    month: str
    currency: str
    rows: int
    billed: Decimal
    effective: Decimal


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person decided about an import that needs review: by month (2026-09) `replace` or `add`."""

    months: dict[str, str] = {}
    add_all: bool = False
    """Whether all months that can be added as corrections are (a command decides before it sees them)."""
    seen: list[ReviewedSums] | None = None
    """None: whatever the source has."""
    copies: list[int] = []
    """Imports whose copy the files are, as was seen."""
    attempts: int = 0
    """How often the import was begun before."""
    sync_month: str = ""
    """Of a sync: the month that the files are of. It is swapped whole, though the files may have no line of it; lines of
    months that are `add` are corrections that it carries, whatever the source has."""
    is_only_month: bool = False
    """Of a push: lines of another month than `sync_month`, and rows of another dataset, are refused."""

    @classmethod
    def of_push(cls, month: date) -> Decision:
        """For rows that are said to be all of `month`."""
        return msgspec.structs.replace(cls.of_sync(month, [month]), is_only_month=True)

    @property
    def only_month(self) -> date | None:
        """The month of which all lines must be."""
        return month_of(self.sync_month) if self.is_only_month else None

    @classmethod
    def of_sync(cls, month: date, listed: Collection[date]) -> Decision:
        """For the files of `month` where the source has `listed`, each with files of its own: what the source has is then
        what all those files have, whichever came last."""
        others = {name_of(each): ADD for each in listed if each != month}
        return cls(months={**others, name_of(month): REPLACE}, sync_month=name_of(month))

    def covers(self, changes: Sequence[MonthChange], copies: Collection[int] = ()) -> bool:
        """Whether what would be replaced, and what the files are copies of, is what was seen."""
        if self.seen is None:
            return True
        if not set(copies) <= set(self.copies):
            return False
        months = {change.month for change in changes}
        return {each for each in self.seen if each.month in months} == set(reviewed_sums(changes))


def reviewed_sums(changes: Iterable[MonthChange]) -> list[ReviewedSums]:
    """What the source had, as a decision keeps it."""
    return [
        ReviewedSums(
            month=change.month,
            currency=change.currency,
            rows=change.rows_before,
            billed=change.billed_before,
            effective=change.effective_before,
        )
        for change in changes
    ]


def name_of(month: date) -> str:
    return f"{month:%Y-%m}"


def month_of(name: str) -> date:
    return date.fromisoformat(f"{name}-01")

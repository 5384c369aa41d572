"""The decision on an import: by a person who reviewed it, or by a sync, which has the month of its files. Pure."""

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
    """The source's sums of a month in one currency at the time of a decision."""

    month: str
    currency: str
    rows: int
    billed: Decimal
    effective: Decimal


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on an import that needs review: `replace` or `add` by month (2026-09)."""

    months: dict[str, str] = {}
    add_all: bool = False
    """Whether to add all months that can be added as corrections (a command decides before the months are known)."""
    seen: list[ReviewedSums] | None = None
    """The source's sums that were reviewed; None accepts any."""
    copies: list[int] = []
    """Ids of imports that the files are copies of, as reviewed."""
    attempts: int = 0
    """The number of earlier attempts of the import."""
    sync_month: str = ""
    """For a sync: the month of the files. It is replaced as a whole, even if the files have no line of it; lines of
    months that are `add` are corrections that it carries, whatever the source has."""
    is_only_month: bool = False
    """For a push: lines of a month other than `sync_month`, and rows of another dataset, are refused."""

    @classmethod
    def of_push(cls, month: date) -> Decision:
        """Return the decision for rows that all belong to `month`."""
        return msgspec.structs.replace(cls.of_sync(month, [month]), is_only_month=True)

    @property
    def only_month(self) -> date | None:
        """The only month that lines may belong to."""
        return month_of(self.sync_month) if self.is_only_month else None

    @classmethod
    def of_sync(cls, month: date, listed: Collection[date]) -> Decision:
        """Return the decision for the files of `month`, if the source has `listed` months with files of their own:
        the source then has the lines of all those files, in any order of import."""
        other_months = {name_of(each): ADD for each in listed if each != month}
        return cls(months={**other_months, name_of(month): REPLACE}, sync_month=name_of(month))

    def covers(self, changes: Sequence[MonthChange], copies: Collection[int] = ()) -> bool:
        """Return whether what would be replaced, and what the files are copies of, was reviewed."""
        if self.seen is None:
            return True
        if not set(copies) <= set(self.copies):
            return False
        months = {change.month for change in changes}
        return {each for each in self.seen if each.month in months} == set(reviewed_sums(changes))


def reviewed_sums(changes: Iterable[MonthChange]) -> list[ReviewedSums]:
    """Return the source's sums in the form that a decision stores."""
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

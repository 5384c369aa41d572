"""The data that a sync stores for each listed month."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import msgspec


class PeriodAction(enum.StrEnum):
    UNCHANGED = "unchanged"
    """The fingerprint is the one that was imported last."""
    IMPORTED = "imported"
    EMPTIED = "emptied"
    """The other side has the month without any line, so the source has none either."""
    FAILED = "failed"
    OUT_OF_RANGE = "out_of_range"
    """Older than the connection's first month."""


class PeriodResult(msgspec.Struct, frozen=True, kw_only=True):
    """One billing month of a sync. `seconds` from the first byte fetched to the commit; `error` says what to do."""

    month: str
    action: PeriodAction
    rows: int = 0
    bytes: int = 0
    files: int = 0
    seconds: float = 0
    import_id: int | None = None
    error: str = ""
    note: str = ""
    """What its lines cannot say, and that its files have lines of other months than the listing says; sentences."""


@dataclass(frozen=True)
class StoredMonth:
    """The result of a month of usage or change events: the source's rows of the month now, and notes for people."""

    rows: int
    notes: list[str]


class PushTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What a push brought in one currency, exact."""

    currency: str
    billed_cost: str
    effective_cost: str

"""Which days a comparison pairs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from finops.costs.answers import ComparisonUsed
from finops.lib.periods import DateRange, previous_period, previous_year, whole_period


@dataclass(frozen=True)
class Compared:
    """The days of both sides, or why there are none."""

    current: DateRange | None = None
    previous: DateRange | None = None
    reason: str = ""


def compared_days(
    *, compare_to: str, days: DateRange, period: str, complete_through: date | None
) -> Compared:
    """The days with complete data, and the same elapsed days of the earlier period (or of the year before)."""
    if complete_through is None or complete_through < days.start:
        return Compared(reason="No day of the period has complete data yet, so there is nothing to compare.")
    covered = DateRange(days.start, min(days.end, complete_through))
    whole = whole_period(period, days)
    if compare_to == "previous_year":
        return Compared(covered, previous_year(covered))
    earlier = previous_period(whole)
    if covered == whole:
        return Compared(covered, earlier)
    elapsed = earlier.start + timedelta(days=covered.days - 1)
    return Compared(covered, DateRange(earlier.start, min(elapsed, earlier.end)))


def comparison_used(compare_to: str, compared: Compared | None, days: DateRange) -> ComparisonUsed | None:
    """How an answer says what it compared."""
    if compared is None or compared.current is None or compared.previous is None:
        return None
    return ComparisonUsed(
        compare_to=compare_to,
        start_date=compared.current.start,
        end_date=compared.current.end,
        previous_start_date=compared.previous.start,
        previous_end_date=compared.previous.end,
        note=_note(compared.current, compared.previous, days),
    )


def _note(current: DateRange, previous: DateRange, days: DateRange) -> str:
    parts = []
    if current != days:
        parts.append(
            f"Only days with complete data are compared: {current.start} to {current.end} with "
            f"{previous.start} to {previous.end}; the amounts in totals and rows cover the whole period."
        )
    if current.days != previous.days:
        parts.append(f"The earlier side has {previous.days} days, this side {current.days}.")
    return " ".join(parts)

"""When a commitment ends, as far as a bill can say it: where no Contract Commitment file does. Pure.

Cost lines have no end of term. Names and descriptions usually have its length ("1yr No Upfront", "3 year"),
and the purchase its first day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

_YEARS: Final = re.compile(r"(?<![\d.])([135])[\s_-]?(?:yrs?|years?|y)(?![a-z])", re.IGNORECASE)
_MONTHS: Final = re.compile(r"(?<!\d)(12|36)[\s_-]?(?:months?|mo)(?![a-z])", re.IGNORECASE)

NO_TERM = "Neither its name nor its lines say how long it runs; a Contract Commitment file (FOCUS 1.3) would say it."
NO_PURCHASE = "Its purchase is not among the bills, so when its term began is not known."


@dataclass(frozen=True)
class Term:
    """The last day of a term; `reason`: how it was found, or why it was not."""

    ends_on: date | None
    reason: str


def term_of(texts: list[str], bought_on: date | None) -> Term:
    """The end of the term that began with the newest purchase."""
    years = next((count for text in texts if (count := _years(text))), None)
    if years is None:
        return Term(None, NO_TERM)
    if bought_on is None:
        return Term(None, NO_PURCHASE)
    noun = "year" if years == 1 else "years"
    return Term(
        _later(bought_on, years), f"Estimated: bought on {bought_on}, and its name says {years} {noun}."
    )


def _years(text: str) -> int | None:
    if match := _YEARS.search(text):
        return int(match[1])
    match = _MONTHS.search(text)
    return int(match[1]) // 12 if match else None


def _later(day: date, years: int) -> date:
    """The day before its anniversary."""
    leap = (day.month, day.day) == (2, 29)
    anniversary = date(day.year + years, 3, 1) if leap else day.replace(year=day.year + years)
    return date.fromordinal(anniversary.toordinal() - 1)

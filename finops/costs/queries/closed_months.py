"""What answers say of months that the account has closed and imports have changed since. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from finops.costs.queries.sources import Restated, Sources
from finops.lib.periods import DateRange, month_end
from finops.lib.spoken import listed, money


def restated_words(sources: Sources, days: Sequence[DateRange], basis: str) -> str:
    """A clause on closed months among these days whose sums are other ones now; empty when there are none.

    Amounts are of the whole account, in the basis of the answer: amortized, else billed.
    """
    parts = []
    for month, restated in sources.closed.items():
        if not any(each.start <= month_end(month) and each.end >= month for each in days):
            continue
        if amounts := _amounts(restated, basis):
            parts.append(f"{month:%Y-%m} was closed and is restated since: {amounts} in the whole account")
    return "".join(f"; {part}" for part in parts)


def restated_warning(sources: Sources, days: Sequence[DateRange], basis: str) -> list[str]:
    """The same as a sentence, for pages that do not show the summary."""
    said = restated_words(sources, days, basis).removeprefix("; ")
    return [f"{said[0].upper()}{said[1:]}."] if said else []


def restated_sentences(sources: Sources) -> list[str]:
    """A sentence for each closed month that was restated, the newest first."""
    found = []
    for month in sorted(sources.closed, reverse=True):
        restated = sources.closed[month]
        said = [
            f"{amounts} {word}" for word in ("billed", "amortized") if (amounts := _amounts(restated, word))
        ]
        if said:
            found.append(f"{month:%Y-%m} is closed and restated since close: {listed(said)}.")
    return found


def _amounts(restated: Sequence[Restated], basis: str) -> str:
    amounts = [(each.effective if basis == "amortized" else each.billed, each.currency) for each in restated]
    return listed([signed(amount, currency) for amount, currency in amounts if amount])


def signed(amount: Decimal, currency: str) -> str:
    """`+12.34 USD`."""
    return f"{'+' if amount > 0 else ''}{money(amount, currency)}"


def is_closed(sources: Sources, month: date) -> bool:
    """Whether the account has closed the billing month (its first day)."""
    return month in sources.closed

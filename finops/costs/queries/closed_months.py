"""Notes of answers on months that the account has closed and imports have changed since. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from finops.costs.queries.sources import Restatement, Sources
from finops.lib.periods import DateRange, month_end
from finops.lib.sentences import join_with_and, money


def restatement_clause(sources: Sources, days: Sequence[DateRange], basis: str) -> str:
    """Return a clause on closed months among these days whose sums have changed; empty without any.

    Amounts are of the whole account, in the basis of the answer: amortized, else billed.
    """
    parts = []
    for month, restated in sources.closed.items():
        if not any(each.start <= month_end(month) and each.end >= month for each in days):
            continue
        if amounts := _amounts(restated, basis):
            parts.append(f"{month:%Y-%m} was closed and restated since: {amounts} in the account")
    return "".join(f"; {part}" for part in parts)


def restatement_warnings(sources: Sources, days: Sequence[DateRange], basis: str) -> list[str]:
    """Return the same as a sentence, for pages that do not show the summary."""
    clause = restatement_clause(sources, days, basis).removeprefix("; ")
    return [f"{clause[0].upper()}{clause[1:]}."] if clause else []


def restatement_sentences(sources: Sources) -> list[str]:
    """Return a sentence for each closed month that was restated, newest first."""
    sentences = []
    for month in sorted(sources.closed, reverse=True):
        restated = sources.closed[month]
        parts = [
            f"{amounts} {word}" for word in ("billed", "amortized") if (amounts := _amounts(restated, word))
        ]
        if parts:
            sentences.append(f"{month:%Y-%m} is closed and restated since close: {join_with_and(parts)}.")
    return sentences


def _amounts(restated: Sequence[Restatement], basis: str) -> str:
    amounts = [(each.effective if basis == "amortized" else each.billed, each.currency) for each in restated]
    return join_with_and([signed_amount(amount, currency) for amount, currency in amounts if amount])


def signed_amount(amount: Decimal, currency: str) -> str:
    """Format an amount with its sign: `+12.34 USD`."""
    return f"{'+' if amount > 0 else ''}{money(amount, currency)}"


def is_closed(sources: Sources, month: date) -> bool:
    """Whether the account has closed the billing month (its first day)."""
    return month in sources.closed

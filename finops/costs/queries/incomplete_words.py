"""What an answer's first sentence says of days that are not complete. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal

from finops.costs.coverage import Coverage
from finops.costs.queries.spend_lake import SpendSum
from finops.lib.money import currencies_by_amount, exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, money, truncate

NAME_LENGTH = 60
NAMED = 3


def incomplete_amounts(sums: Iterable[SpendSum], categories: Sequence[str] = ()) -> dict[str, Decimal]:
    """What stands on days that are not complete, by currency, the most first; without those where it is nothing."""
    by_currency: dict[str, list[Decimal]] = {}
    for part in sums:
        if part.incomplete and (not categories or part.charge_category in categories):
            by_currency.setdefault(part.currency, []).append(part.incomplete)
    amounts = {currency: exact_sum(parts) for currency, parts in by_currency.items()}
    return {currency: amounts[currency] for currency in currencies_by_amount(amounts) if amounts[currency]}


def incomplete_words(
    coverage: Coverage, days: DateRange, amounts: Mapping[str, Decimal], names: Mapping[int, str]
) -> str:
    """A clause for the end of a sentence: what of the days' amount is not final, and what has not come at all.

    Empty where all days are complete, and where only today is missing and has no cost yet.
    """
    first_of = coverage.incomplete_from(days)
    if not first_of:
        return ""
    spans = coverage.sources
    parts = []
    if amounts:
        amounts_text = join_with_and([money(amount, currency) for currency, amount in amounts.items()])
        verb = "is" if len(amounts) == 1 else "are"
        parts.append(f", of which {amounts_text} on {incomplete_span(coverage, days)} {verb} not final")
    missing = [
        source
        for source, first in first_of.items()
        if (spans[source].last_day < first or not amounts)
        and first < min(coverage.today, days.end + timedelta(days=1))
    ]
    return "".join(parts) + _missing_clause(coverage, missing, first_of, names)


def incomplete_span(coverage: Coverage, days: DateRange) -> str:
    """From the first day that is not complete for a source and has lines of it to the last."""
    first_of, spans = coverage.incomplete_from(days), coverage.sources
    first_days = {
        source: first for source, first in first_of.items() if spans[source].last_day >= first
    } or first_of
    last = max((min(spans[source].last_day, days.end) for source in first_days), default=days.end)
    return day_span(min(first_days.values(), default=days.start), last)


def day_span(first: date, last: date) -> str:
    """A day, or the first and the last of several."""
    return f"{first}" if first >= last else f"{first} to {last}"


def _missing_clause(
    coverage: Coverage, sources: Sequence[int], first_of: Mapping[int, date], names: Mapping[int, str]
) -> str:
    """Which sources have no complete day, or no line, from when on."""
    if not sources:
        return ""
    firsts = {first_of[source] for source in sources}
    if len(firsts) == 1 and len(sources) == len(coverage.sources):
        return f"; no day is complete from {next(iter(firsts))} on"
    named = [
        f"{truncate(names[source], NAME_LENGTH)!r} from {first_of[source]}"
        for source in sources
        if source in names
    ]
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return (
        f"; no day is complete of {join_with_and(named[:NAMED]) if not more else ', '.join(named[:NAMED])}{more}"
        if named
        else ""
    )

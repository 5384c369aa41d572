"""Clauses of the first sentence of an answer about spend: what it leaves out, spreads, or has of days that are not final."""

from __future__ import annotations

from collections.abc import Sequence

from finops.costs.comparison import apart_words
from finops.costs.queries.incomplete_words import incomplete_amounts, incomplete_words, when_incomplete
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_lake import SpendSum
from finops.lib.money import most_first
from finops.lib.spoken import listed, money, quoted

NAMED_GAINS = 3
NAME_LENGTH = 80


def lacking_words(facts: SpendFacts) -> str:
    """A clause on what the sum knows nothing of."""
    if not facts.lacking:
        return ""
    basis = facts.query.basis or facts.sources.view.basis
    amounts = listed([each.words(basis) for each in facts.lacking])
    return f"; {facts.view.measure} is missing on lines of {amounts}"


def shared_words(facts: SpendFacts) -> str:
    """A clause on what the total, or else the groups, would have with the shares of splits, which this answer leaves
    out."""
    totals = facts.after_splits.totals
    amounts = [money(totals[currency], currency) for currency in most_first(totals)]
    if amounts:
        return f"; after shared-cost splits (splits: after) it is {listed(amounts)}"
    gains: dict[str, list[str]] = {}
    for each in facts.after_splits.gains:
        gains.setdefault(each.name, []).append(money(each.amount, each.currency))
    named = [
        f"{listed(found)} to {quoted(name, NAME_LENGTH)}" for name, found in list(gains.items())[:NAMED_GAINS]
    ]
    others = len(gains) - len(named)
    more = f", and more to {others} other{'s' if others > 1 else ''}" if others else ""
    return f"; shared-cost splits (splits: after) would add {', '.join(named)}{more}" if named else ""


def spread_words(facts: SpendFacts) -> str:
    """A clause on what spreading adds to the totals; empty without it."""
    if facts.query.spread == "none":
        return ""
    moved = [each for each in facts.splitting.spread if each.amount]
    if not moved:
        return "; charges of several days are spread evenly over their period, which moves nothing across these days"
    said = listed(
        [
            f"{money(abs(each.amount), each.currency)} {'more' if each.amount > 0 else 'less'}"
            for each in moved
        ]
    )
    return f"; charges of several days are spread evenly over their period: {said} than on the days they were charged"


def not_final(facts: SpendFacts, sums: Sequence[SpendSum]) -> str:
    """A clause on the amount that stands on days that are not complete, and on sources that compare other days."""
    amounts = incomplete_amounts(sums, facts.plan.categories)
    said = incomplete_words(facts.sources.coverage, facts.plan.days, amounts, facts.names)
    apart = apart_words(facts.compared, facts.names) if facts.compared else []
    return said + "".join(f"; {each[0].lower()}{each[1:].rstrip('.')}" for each in apart)


def not_final_warning(facts: SpendFacts, sums: Sequence[SpendSum]) -> list[str]:
    """The same for pages, which do not show the summary."""
    amounts = incomplete_amounts(sums, facts.plan.categories)
    if not amounts:
        return []
    said = listed([money(amount, currency) for currency, amount in amounts.items()])
    when = when_incomplete(facts.sources.coverage, facts.plan.days)
    return [f"{said} on {when} {'is' if len(amounts) == 1 else 'are'} not final."]

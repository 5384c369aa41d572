"""Clauses of the first sentence of an answer about spend: what it leaves out, spreads, or has of days that are not final."""

from __future__ import annotations

from collections.abc import Sequence

from finops.costs.comparison import source_override_sentences
from finops.costs.queries.incomplete_words import incomplete_amounts, incomplete_span, incomplete_words
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_lake import SpendSum
from finops.lib.money import currencies_by_amount
from finops.lib.sentences import join_with_and, money, quote

NAMED_GAINS = 3
NAME_LENGTH = 80


def missing_measure_clause(facts: SpendFacts) -> str:
    """A clause on what the sum knows nothing of."""
    if not facts.missing_measure:
        return ""
    basis = facts.query.basis or facts.sources.view.basis
    amounts = join_with_and([each.words(basis) for each in facts.missing_measure])
    return f"; {facts.view.measure} is missing on lines of {amounts}"


def split_preview_clause(facts: SpendFacts) -> str:
    """A clause on what the total, or else the groups, would have with the shares of splits, which this answer leaves
    out."""
    totals = facts.after_splits.totals
    amounts = [money(totals[currency], currency) for currency in currencies_by_amount(totals)]
    if amounts:
        return f"; after shared-cost splits (splits: after) it is {join_with_and(amounts)}"
    gains: dict[str, list[str]] = {}
    for each in facts.after_splits.gains:
        gains.setdefault(each.name, []).append(money(each.amount, each.currency))
    named = [
        f"{join_with_and(amounts_of_group)} to {quote(name, NAME_LENGTH)}"
        for name, amounts_of_group in list(gains.items())[:NAMED_GAINS]
    ]
    others = len(gains) - len(named)
    more = f", and more to {others} other{'s' if others > 1 else ''}" if others else ""
    return f"; shared-cost splits (splits: after) would add {', '.join(named)}{more}" if named else ""


def spread_clause(facts: SpendFacts) -> str:
    """A clause on what spreading adds to the totals; empty without it."""
    if facts.query.spread == "none":
        return ""
    changes = [each for each in facts.split_result.spread if each.amount]
    if not changes:
        return "; charges of several days are spread evenly over their period, which moves nothing across these days"
    text = join_with_and(
        [
            f"{money(abs(each.amount), each.currency)} {'more' if each.amount > 0 else 'less'}"
            for each in changes
        ]
    )
    return f"; charges of several days are spread evenly over their period: {text} than on the days they were charged"


def not_final(facts: SpendFacts, sums: Sequence[SpendSum]) -> str:
    """A clause on the amount that stands on days that are not complete, and on sources that compare other days."""
    amounts = incomplete_amounts(sums, facts.plan.categories)
    clause = incomplete_words(facts.sources.coverage, facts.plan.days, amounts, facts.names)
    source_overrides = source_override_sentences(facts.compared, facts.names) if facts.compared else []
    return clause + "".join(f"; {each[0].lower()}{each[1:].rstrip('.')}" for each in source_overrides)


def not_final_warning(facts: SpendFacts, sums: Sequence[SpendSum]) -> list[str]:
    """The same for pages, which do not show the summary."""
    amounts = incomplete_amounts(sums, facts.plan.categories)
    if not amounts:
        return []
    text = join_with_and([money(amount, currency) for currency, amount in amounts.items()])
    when = incomplete_span(facts.sources.coverage, facts.plan.days)
    return [f"{text} on {when} {'is' if len(amounts) == 1 else 'are'} not final."]

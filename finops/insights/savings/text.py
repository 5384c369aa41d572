"""Sentences of an answer about savings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accounts.models import Account
from finops.exchange_rates.missing_rates import missing_rate_clause, without_rate
from finops.insights.savings.schemas import RealisedSaving, Recommendation, SavingsQuery, SavingsTotal
from finops.lib.sentences import exact_number, join_with_and, money, quote

OPEN: Final = "open"
DISMISSED: Final = "dismissed"
ACTED: Final = "acted"


def summary_of(
    account: Account,
    query: SavingsQuery,
    totals: Sequence[SavingsTotal],
    rows: Sequence[Recommendation],
    realised: Sequence[RealisedSaving],
    incomplete: str,
    *,
    has_cost: bool,
) -> str:
    """Return one or two plain sentences on the query. `incomplete`: what the first one reports as missing."""
    marked = query.status in (ACTED, DISMISSED)
    amounts = {each.currency: each.monthly_saving for each in totals}
    incomplete = f"{missing_rate_clause(amounts)}{incomplete}"
    converted = [total for total in totals if total.currency not in without_rate(amounts)] or totals
    could = _potential_text(account, query, converted, rows, "" if marked else incomplete, has_cost=has_cost)
    if not marked:
        return could
    noun = "recommendation" if len(rows) == 1 else "recommendations"
    if query.status == DISMISSED:
        return f"{len(rows)} {noun} dismissed{_filter_text(query)}{incomplete}. {could}"
    saved = join_with_and([money(each.saved, each.currency) for each in realised if each.saved is not None])
    avoided = join_with_and(
        [money(each.waste_avoided, each.currency) for each in realised if each.waste_avoided is not None]
    )
    parts = [f"saved {saved} a month so far"] if saved else []
    parts += [f"{avoided} less commitment waste a month, which is not a saving"] if avoided else []
    so_far = "; ".join(parts) or "none old enough to measure"
    return f"{len(rows)} {noun} acted on{_filter_text(query)}: {so_far}{incomplete}. {could}"


def _potential_text(
    account: Account,
    query: SavingsQuery,
    totals: Sequence[SavingsTotal],
    rows: Sequence[Recommendation],
    incomplete: str,
    *,
    has_cost: bool,
) -> str:
    if not totals:
        which = _filter_text(query) or ("" if has_cost else ": it has no complete day of cost data")
        return f"{quote(account.name)} has no open recommendation{which or ': its bills prove no saving of 1 a month or more'}{incomplete}."
    count = sum(total.recommendations for total in totals)
    if not count:
        return (
            f"{quote(account.name)} has no open recommendation with potential "
            f"savings{_filter_text(query)}{incomplete}.{_waste(totals)}"
        )
    amounts = join_with_and(
        [money(total.monthly_saving, total.currency) for total in totals if total.monthly_saving]
    )
    noun = "recommendation" if count == 1 else "recommendations"
    unknown = sum(total.unknown for total in totals)
    unknown_clause = f"; {unknown} to review without an amount" if unknown else ""
    first = next((row for row in rows if row.status == OPEN and row.monthly_waste is None), None)
    largest = f" Largest: {first.title}." if first else ""
    return (
        f"{quote(account.name)} has potential savings of {amounts or 'an amount not known'} a month "
        f"from {count} open {noun}{_filter_text(query)}{unknown_clause}{incomplete}.{largest}{_waste(totals)}"
    )


def _waste(totals: Sequence[SavingsTotal]) -> str:
    """Return a clause on unused commitments, which are not potential savings."""
    amounts = join_with_and(
        [money(each.monthly_waste, each.currency) for each in totals if each.monthly_waste]
    )
    if not amounts:
        return ""
    return (
        f" Not included: {amounts} a month of unused commitment, already paid for. Use, exchange or "
        "sell it, or do not renew it."
    )


def _filter_text(query: SavingsQuery) -> str:
    """Return the filters of the query besides the status, in words."""
    parts = [
        query.scope_text,
        f" of rule {query.rule}" if query.rule else "",
        f" of {exact_number(query.minimum_saving)} a month or more"
        if query.minimum_saving is not None
        else "",
        f" in {query.currency.strip().upper()}" if query.currency.strip() else "",
    ]
    return "".join(parts)

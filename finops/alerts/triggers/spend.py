"""Spend answers for messages: one currency where it is converted, and a first sentence that says what the total
leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from accounts.models import Account
from finops.costs.answers import SpendAnswer, SpendTotal, drop_other_currencies
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend import read_spend
from finops.costs.queries.spend_answer import assemble
from finops.costs.queries.spend_lake import UNITS
from finops.costs.queries.spend_words import amounts_of, caveat_clause, left_out_clause, not_final_warning
from finops.costs.spend_query import SpendQuery
from finops.exchange_rates.missing_rates import missing_rate_clause, missing_rate_warnings, without_rate
from finops.lake.engine.conversion import display_currency
from finops.lib.errors import UserError
from finops.lib.formats.sentences import reader_text

MOST_NOTES: Final = 3


@dataclass(frozen=True)
class MessageSpend:
    """A spend answer for a message. `caveat`: a clause for the end of the first sentence, with the amounts of
    incomplete days, of cost without an exchange rate and of charge categories that are not counted; empty if the total is
    complete. `notes`: the other warnings.
    `missing_rate`: why a change cannot be computed, if amounts have no exchange rate."""

    answer: SpendAnswer
    caveat: str
    notes: tuple[str, ...]
    missing_rate: str

    @property
    def totals(self) -> list[SpendTotal]:
        """Totals by absolute amount, largest first; amounts of different currencies are compared as numbers."""
        return sorted(self.answer.totals, key=lambda total: (-total.amount.copy_abs(), total.currency))


def message_spend(account: Account, query: SpendQuery, *, sources: Sources, deadline: float) -> MessageSpend:
    """Return the answer for a message. Raises and costs as `query_spend`."""
    facts, sums = read_spend(account, query, sources=sources, deadline=deadline)
    answer = assemble(facts, sums)
    amounts = {} if facts.plan.basis in UNITS else amounts_of(answer.totals)
    missing = missing_rate_warnings(amounts)
    left_out = left_out_clause(part for total in answer.totals for part in total.left_out).removeprefix(", ")
    caveat = caveat_clause(facts, sums)
    in_first_sentence = {*missing, *not_final_warning(facts, sums)}
    return MessageSpend(
        answer=drop_other_currencies(answer, display_currency()),
        caveat=reader_text(f"{f' ({left_out})' if left_out else ''}{missing_rate_clause(amounts)}{caveat}"),
        notes=tuple(
            reader_text(each)
            for each in answer.warnings
            if each not in in_first_sentence and f"{each[0].lower()}{each[1:].rstrip('.')}" not in caveat
        ),
        missing_rate=_missing_rate(amounts, missing),
    )


def _missing_rate(amounts: Mapping[str, Decimal], warnings: Sequence[str]) -> str:
    if not without_rate(amounts):
        return ""
    # The amounts may all be of the previous period.
    return reader_text(" ".join(warnings)) or f"Some days have no exchange rate to {display_currency()}."


def comparison_error(missing_rate: str) -> UserError:
    """Return the error that stops the evaluation: cost missing on one side only would look like a change."""
    return UserError(f"Not compared. {missing_rate} Add exchange rates in Settings.")


def limit_notes(notes: Sequence[str], where: str) -> list[str]:
    """Return the notes that fit into a message, and the number of others on a page."""
    more = len(notes) - MOST_NOTES
    if more <= 0:
        return list(notes)
    return [*notes[:MOST_NOTES], f"{more} more {'note' if more == 1 else 'notes'} {where}."]

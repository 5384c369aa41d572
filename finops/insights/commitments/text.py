"""Sentences of an answer about commitments."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from accounts.models import Account
from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.queries.filter_values import FilterFindings
from finops.costs.queries.sources import Sources
from finops.exchange_rates.missing_rates import missing_rate_clause, without_rate
from finops.insights.commitments.schemas import CommitmentQuery, CommitmentRow, CommitmentTotal
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, money, percent_text, quote, truncate

ELIGIBLE = (
    "Eligible usage for coverage and effective savings rate: usage at standard prices of services "
    "with a used commitment. Bills before FOCUS 1.4 do not state eligibility."
)
ELIGIBLE_BY_DETAILS = (
    "Eligible usage for coverage and effective savings rate: lines that the bills mark as eligible "
    "(CommitmentProgramEligibilityDetails), and usage covered by commitments."
)
ELIGIBLE_MIXED = (
    "Eligible usage for coverage and effective savings rate: lines that the bills mark as eligible "
    "(CommitmentProgramEligibilityDetails, FOCUS 1.4); in other bills, usage at standard prices of "
    "services with a used commitment."
)


TYPE_LENGTH = 60

NO_BUCKETS = "Buckets are omitted. Use a coarser granularity or fewer days."


def summary_of(
    account: str,
    query: CommitmentQuery,
    days: DateRange,
    totals: Sequence[CommitmentTotal],
    problems: str = "",
) -> str:
    """Return one plain sentence: commitment cost, utilization, waste and savings."""
    when = f"from {days.start} to {days.end}"
    of = f" of type {truncate(query.type.strip(), TYPE_LENGTH)!r}" if query.type.strip() else ""
    of += f" with an end before {query.expires_before}" if query.expires_before else ""
    of += " within the filters" if query.filters else ""
    if not totals:
        return f"{quote(account)} has no commitment{of} in its bills {when}{problems}."
    amounts = {total.currency: total.committed_cost for total in totals}
    problems = f"{missing_rate_clause(amounts)}{problems}"
    totals = [total for total in totals if total.currency not in without_rate(amounts)] or totals
    return f"The commitments of {quote(account)}{of} {when}: {'; '.join(_total_text(total) for total in totals)}{problems}."


def without_end(count: int) -> tuple[str, ...]:
    """Return a sentence on commitments without a known end, which a query by end leaves out."""
    if not count:
        return ()
    some = "1 commitment is" if count == 1 else f"{count:,} commitments are"
    return (f"{some} left out: the bills do not contain the end of the term.",)


def _total_text(total: CommitmentTotal) -> str:
    if total.utilization is None:
        parts = [f"{money(total.used_cost, total.currency)} used"]
    else:
        parts = [f"{percent_text(total.utilization)} of {money(total.committed_cost, total.currency)} used"]
    if total.unused_cost:
        parts.append(f"{money(total.unused_cost, total.currency)} wasted")
    if total.coverage is not None:
        parts.append(f"{percent_text(total.coverage)} of the eligible usage covered")
    if total.net_savings is not None:
        word = "saved" if total.net_savings >= 0 else "lost"
        parts.append(f"{money(abs(total.net_savings), total.currency)} {word} against on-demand prices")
    if total.effective_savings_rate is not None:
        parts.append(_effective(total, total.effective_savings_rate))
    return join_with_and(parts)


def _effective(total: CommitmentTotal, rate: Decimal) -> str:
    over_list = total.effective_savings_rate_over_list
    over_list_text = (
        f" ({percent_text(over_list)} of list)"
        if over_list is not None and total.effective_savings_rate_of != "list"
        else ""
    )
    return f"effective savings rate {percent_text(rate)} of {total.effective_savings_rate_of} prices{over_list_text}"


def warnings_of(
    account: Account,
    days: DateRange,
    sources: Sources,
    findings: FilterFindings,
    totals: Sequence[CommitmentTotal],
) -> list[str]:
    sentences = list(findings.warnings)
    sentences += [total.utilization_reason for total in totals if total.utilization_reason]
    rules = {total.eligible_by for total in totals if total.coverage is not None}
    if rules:
        only = rules.pop() if len(rules) == 1 else "mixed"
        sentences.append(
            {"services": ELIGIBLE, "eligibility_details": ELIGIBLE_BY_DETAILS}.get(only, ELIGIBLE_MIXED)
        )
    if len(totals) > 1:
        names = ", ".join(total.currency for total in totals)
        sentences.append(f"Commitments are in {len(totals)} currencies ({names}), which are not added.")
    facts = AnswerFacts(account, days, sources)
    return list(dict.fromkeys([*sentences, *warnings_for(facts)]))


def truncated_of(rows: Sequence[CommitmentRow]) -> str:
    folded = sum(row.other_commitments for row in rows if row.commitment == "other")
    return f"{folded:,} more are in the row other. Raise limit or filter." if folded else ""


def hint_of(totals: Sequence[CommitmentTotal], rows: Sequence[CommitmentRow]) -> str:
    """Return the suggested next query."""
    if not totals:
        return "Try other days or remove filters. querySpend by pricing_category shows on-demand spend."
    wasted = {
        row.currency: row for row in reversed(rows) if row.unused_cost and row.commitment not in ("", "other")
    }
    named = [wasted[total.currency] for total in totals if total.currency in wasted]
    if named:
        names = [f"{row.name or row.commitment!r} ({money(row.unused_cost, row.currency)})" for row in named]
        return (
            f"{join_with_and(names)} {('wastes' if len(names) == 1 else 'waste')} most. "
            "Granularity day shows when."
        )
    return "listSavingsRecommendations shows what a commitment could still cover."

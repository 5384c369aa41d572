"""Utilization of commitments: the query of the page Commitments and of the tool getCommitmentUtilization."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import ibis
import msgspec

from accounts.models import Account
from finops.costs.answers import AccountRef, AppliedPeriod
from finops.costs.coverage import Bucket, buckets_of
from finops.costs.dimensions import no_values_clause
from finops.costs.filters import ResolvedFilter, dimension_warnings
from finops.costs.queries.filter_values import FilterFindings
from finops.costs.queries.source_notes import SourceNotes, selected_sources, source_notes
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import resolve_query
from finops.costs.queries.spend_words import days_clause
from finops.costs.spend_query import DEFAULT_PERIOD, SpendQuery, read_period
from finops.insights.commitments import text
from finops.insights.commitments.figures import (
    UNUSED,
    Eligibility,
    Figures,
    Term,
    coverage_of,
    effective_savings_of,
    term_of,
)
from finops.insights.commitments.lake import (
    CommitmentBuild,
    CommitmentSum,
    Contract,
    read_contracts,
    read_sums,
)
from finops.insights.commitments.schemas import (
    CommitmentAnswer,
    CommitmentBucket,
    CommitmentQuery,
    CommitmentRow,
    CommitmentTotal,
)
from finops.insights.cost_scope import CostReader
from finops.lib.answers import group_by, largest_that_fits
from finops.lib.errors import unknown_value
from finops.lib.money import currencies_by_amount, exact_sum
from finops.lib.periods import DateRange

FEW = 5
"""Minimum number of rows beside the buckets of an answer."""

Fits = Callable[[CommitmentAnswer], bool]


@dataclass(frozen=True)
class History:
    """Facts from all bills of an account: sources with Unused lines, and the purchase date of each commitment."""

    exports: frozenset[str] = frozenset()
    bought: Mapping[str, date] = field(default_factory=dict)


@dataclass(frozen=True)
class CommitmentFacts:
    """Input of an answer."""

    account: Account
    query: CommitmentQuery
    days: DateRange
    sources: Sources
    sums: Sequence[CommitmentSum]
    history: History
    findings: FilterFindings
    buckets: Sequence[Bucket]
    contracts: Mapping[str, Contract]
    filters: Sequence[ResolvedFilter] = ()
    warnings: tuple[str, ...] = ()
    source_notes: SourceNotes = field(default_factory=SourceNotes)
    selected_sources: set[int] | None = None
    """The sources whose cost the filters may select; None for all."""

    def figures(self, sums: Iterable[CommitmentSum]) -> Figures:
        return Figures([each for each in sums if each.commitment], self.history.exports)

    def term(self, figures: Figures) -> Term:
        """Return the end of a commitment: by its contract, else by its names and its purchase."""
        commitment = figures.sums[0].commitment
        contract = self.contracts.get(commitment)
        if contract is not None:
            return Term(contract.ends_on, contract.reason)
        texts = {part for each in figures.sums for part in (each.name, each.type, each.description) if part}
        return term_of(sorted(texts), self.history.bought.get(commitment))


def commitment_utilization(
    account: Account, query: CommitmentQuery, *, deadline: float | None = None, fits: Fits | None = None
) -> CommitmentAnswer:
    """Return cost, utilization, coverage and savings of commitments; amortized, whatever the cost view.

    `fits` decides whether an answer is small enough; else fewer rows are listed. Raises UserError for errors that the
    caller can correct. Cost: one query of PostgreSQL for contracts, two lake queries (the second over all days, of
    four columns of commitment lines; both are cached while no file changes), one or two more with filters.
    """
    facts = _filter_commitments(_read(account, query, deadline))
    if fits is not None and not fits(_assemble(facts, min(query.limit, FEW))):
        return _without_buckets(facts, fits)
    return largest_that_fits(lambda limit: _assemble(facts, limit), query.limit, fits)


def _without_buckets(facts: CommitmentFacts, fits: Fits) -> CommitmentAnswer:
    """Return the answer without buckets if these alone fill it, since rows are more useful."""

    def answer_with(limit: int) -> CommitmentAnswer:
        answer = _assemble(replace(facts, buckets=[]), limit)
        return msgspec.structs.replace(answer, truncated=f"{answer.truncated} {text.NO_BUCKETS}".strip())

    return largest_that_fits(answer_with, facts.query.limit, fits) if facts.buckets else _assemble(facts, 1)


def _read(account: Account, query: CommitmentQuery, deadline: float | None) -> CommitmentFacts:
    sources = load_sources(account)
    question = resolve_query(account, _spend_question(query), sources)
    build = CommitmentBuild(question.filters, query.granularity, question.incomplete)
    reader = CostReader(account, sources, deadline)
    sums = read_sums(reader.run(question.days, build, build.tag_keys))
    return CommitmentFacts(
        account=account,
        query=query,
        days=question.days,
        sources=sources,
        sums=sums,
        contracts=read_contracts({each.commitment for each in sums if each.commitment}),
        history=_history(reader),
        findings=reader.look_up(question),
        buckets=buckets_of(query.granularity, question.days, sources.coverage),
        filters=question.filters,
        source_notes=source_notes(account, sources, question.filters, question.days),
        selected_sources=selected_sources(account, sources, question.filters, question.days),
    )


def _filter_commitments(facts: CommitmentFacts) -> CommitmentFacts:
    """Return the facts with only the commitments of the query's type that end before its day. Raises UserError for a
    type that no commitment of the days has."""
    query, type_text = facts.query, facts.query.type.strip()
    commitment_sums = [each for each in facts.sums if each.commitment]
    commitments = {
        each.commitment
        for each in commitment_sums
        if type_text.casefold() in f"{_type(each)} {each.category}".casefold()
    }
    if commitment_sums and not commitments:
        raise unknown_value("type", type_text, sorted({_type(each) for each in commitment_sums}))
    warnings: tuple[str, ...] = ()
    if query.expires_before:
        sums_by_name = group_by(commitment_sums, lambda each: each.commitment)
        ends = {name: facts.term(facts.figures(sums_by_name[name])).ends_on for name in commitments}
        commitments = {name for name, day in ends.items() if day is not None and day < query.expires_before}
        warnings = text.without_end(sum(day is None for day in ends.values()))
    sums = [each for each in facts.sums if not each.commitment or each.commitment in commitments]
    return replace(facts, sums=sums, warnings=warnings)


def _spend_question(query: CommitmentQuery) -> SpendQuery:
    dated = query.start_date or query.end_date
    return SpendQuery(
        start_date=query.start_date,
        end_date=query.end_date,
        period=read_period(query.period) or (None if dated else DEFAULT_PERIOD),
        granularity=query.granularity,
        filters=list(query.filters),
        basis="amortized",
        charge_categories=["all"],
    )


class _HistoryBuild:
    """By source and commitment: whether it has Unused lines, its newest upfront fee and its first recurring fee."""

    def __call__(self, table: Any) -> Any:
        lines = table.filter(table.commitment_id.notnull())
        bought = lines.charge_category == "Purchase"
        once = bought & (lines.charge_frequency == "One-Time")
        nothing = ibis.null("date")
        return lines.group_by(["source", "commitment_id"]).aggregate(
            unused=ibis.ifelse(lines.commitment_status == UNUSED, 1, 0).max(),
            once=ibis.ifelse(once, lines.charge_date, nothing).max(),
            recurring=ibis.ifelse(bought & ~once, lines.charge_date, nothing).min(),
        )


_HISTORY = _HistoryBuild()


def _history(reader: CostReader) -> History:
    first, last = reader.sources.coverage.first_day, reader.sources.coverage.last_day
    if first is None or last is None:
        return History()
    rows = reader.run(DateRange(first, last), _HISTORY).to_pylist()
    by_commitment = group_by(rows, lambda row: str(row["commitment_id"]))
    bought = {name: _purchase_day(lines) for name, lines in by_commitment.items()}
    # A fee on the first day of all bills may be one of many: when the term began is before them.
    reliable = {name: day for name, day in bought.items() if day is not None and day > first}
    return History(frozenset(row["source"] for row in rows if row["unused"]), reliable)


def _purchase_day(rows: Iterable[Mapping[str, Any]]) -> date | None:
    """Return the day of the newest upfront fee in any source, else of the first recurring fee."""
    once = [row["once"] for row in rows if row["once"]]
    return max(once) if once else min((row["recurring"] for row in rows if row["recurring"]), default=None)


def _assemble(facts: CommitmentFacts, limit: int) -> CommitmentAnswer:
    eligibility = Eligibility.of(facts.sums)
    currencies = {each.currency for each in facts.sums if each.commitment}
    every = {currency: _total(facts, currency, eligibility) for currency in currencies}
    ranked = currencies_by_amount({name: total.committed_cost for name, total in every.items()})
    totals = [every[currency] for currency in ranked]
    rows = [row for currency in ranked for row in _rows(facts, currency, limit)]
    through = facts.sources.coverage.complete_through
    warnings = text.warnings_of(facts.account, facts.days, facts.sources, facts.findings, totals)
    filtered = [each.dimension for each in facts.filters]
    return CommitmentAnswer(
        account=AccountRef(slug=facts.account.slug, name=facts.account.name),
        summary=text.summary_of(
            facts.account.name,
            facts.query,
            facts.days,
            totals,
            _not_final(facts, totals)
            + no_values_clause(filtered)
            + facts.findings.clause
            + "".join(f"; {each.rstrip('.')}" for each in facts.warnings)
            + facts.source_notes.clause,
        ),
        period=AppliedPeriod(
            start_date=facts.days.start,
            end_date=facts.days.end,
            days=facts.days.days,
            name=facts.query.period or ("" if facts.query.start_date else DEFAULT_PERIOD),
            unfinished=through is None or through < facts.days.end,
        ),
        totals=totals,
        rows=rows,
        resolved_filters=facts.findings.used,
        data_through=through,
        truncated=text.truncated_of(rows),
        warnings=[*facts.source_notes.warnings, *dimension_warnings(filtered), *facts.warnings, *warnings],
        hint=text.hint_of(totals, rows),
    )


def _not_final(facts: CommitmentFacts, totals: Sequence[CommitmentTotal]) -> str:
    """Return a clause on incomplete days, with the cost of commitments on them, and on days without bills."""
    late = {
        total.currency: exact_sum(
            each.incomplete for each in facts.sums if each.commitment and each.currency == total.currency
        )
        for total in totals
    }
    amounts = {currency: amount for currency, amount in late.items() if amount}
    sources = facts.sources
    clause = days_clause(sources.coverage, facts.days, amounts, sources.names_by_id, facts.selected_sources)
    return clause.replace(", of which ", "; ", 1)


def _total(facts: CommitmentFacts, currency: str, eligibility: Eligibility) -> CommitmentTotal:
    sums = [each for each in facts.sums if each.currency == currency]
    figures = facts.figures(sums)
    coverage, savings = coverage_of(sums, eligibility), effective_savings_of(sums, eligibility)
    by_bucket = group_by(sums, lambda each: each.bucket)
    return CommitmentTotal(
        **_utilization(figures, currency),
        commitments=len(figures.commitments),
        eligible_actual_cost=savings.actual,
        eligible_on_demand_cost=savings.on_demand,
        effective_savings_rate=savings.rate.value,
        effective_savings_rate_of=savings.of,
        effective_savings_rate_over_list=savings.over_list.value,
        effective_savings_rate_reason=savings.rate.reason,
        covered_cost=coverage.covered,
        eligible_cost=coverage.eligible,
        coverage=coverage.share.value,
        coverage_reason=coverage.share.reason,
        eligible_by=eligibility.rules(sums),
        buckets=[
            _bucket(facts, each, by_bucket.get(each.start, []), currency, eligibility)
            for each in facts.buckets
        ],
    )


def _utilization(figures: Figures, currency: str) -> dict[str, Any]:
    utilization, rate = figures.utilization, figures.commitment_savings_rate
    return {
        "committed_cost": figures.committed_cost,
        "used_cost": figures.used_cost,
        "unused_cost": figures.unused_cost,
        "currency": currency,
        "utilization": utilization.value,
        "utilization_reason": utilization.reason,
        "utilization_by": "quantity" if figures.is_by_quantity else "cost",
        "on_demand_cost": figures.on_demand_cost,
        "net_savings": figures.net_savings,
        "commitment_savings_rate": rate.value,
        "commitment_savings_rate_reason": rate.reason,
        "commitment_savings_rate_over_list": figures.commitment_savings_rate_over_list.value,
    }


def _bucket(
    facts: CommitmentFacts,
    bucket: Bucket,
    inside: Sequence[CommitmentSum],
    currency: str,
    eligibility: Eligibility,
) -> CommitmentBucket:
    figures, coverage = facts.figures(inside), coverage_of(inside, eligibility)
    return CommitmentBucket(
        start_date=bucket.start,
        used_cost=figures.used_cost,
        unused_cost=figures.unused_cost,
        covered_cost=coverage.covered,
        eligible_cost=coverage.eligible,
        currency=currency,
        utilization=figures.utilization.value,
        coverage=coverage.share.value,
    )


def _rows(facts: CommitmentFacts, currency: str, limit: int) -> list[CommitmentRow]:
    """Return the rows in the order of the query, by default by waste; the rest as one row."""
    if facts.query.by == "none":
        return []

    def key(each: CommitmentSum) -> tuple[str, ...]:
        return (each.commitment,) if facts.query.by == "commitment" else (each.provider, _type(each))

    groups = group_by((each for each in facts.sums if each.commitment and each.currency == currency), key)
    ranked = _rank_groups(facts, [facts.figures(groups[name]) for name in sorted(groups)])
    rows = [_row(facts, figures, currency) for figures in ranked[:limit]]
    small_groups = ranked[limit:]
    if small_groups:
        every = facts.figures(each for figures in small_groups for each in figures.sums)
        rows.append(_other(every, currency, len(small_groups)))
    return rows


def _rank_groups(facts: CommitmentFacts, groups: list[Figures]) -> list[Figures]:
    """Return groups, which are sorted by name, in the order of the query."""
    groups.sort(key=lambda each: (-each.unused_cost, -each.committed_cost))
    order = facts.query.order_by
    if order == "committed_cost":
        groups.sort(key=lambda each: -each.committed_cost)
    if order == "utilization":  # the least used first, what is not known last
        groups.sort(key=lambda each: (each.utilization.value is None, each.utilization.value or 0))
    if order == "expiry" and facts.query.by == "commitment":
        groups.sort(key=lambda each: facts.term(each).ends_on or date.max)
    return groups


def _row(facts: CommitmentFacts, figures: Figures, currency: str) -> CommitmentRow:
    is_commitment = facts.query.by == "commitment"
    term = facts.term(figures) if is_commitment else Term(None, "Group by commitment.")
    commitment = figures.sums[0].commitment if is_commitment else ""
    newest = max(figures.sums, key=lambda each: (bool(each.name), each.last_day, each.name))
    contract = facts.contracts.get(commitment)
    return CommitmentRow(
        **_utilization(figures, currency),
        commitment=commitment,
        name=newest.name if is_commitment else "",
        type=max(map(_type, figures.sums)),
        category=_only({each.category for each in figures.sums}),
        provider=_only({each.provider for each in figures.sums}),
        purchased_amount=figures.purchased_amount,
        used_quantity=figures.used_quantity,
        unused_quantity=figures.unused_quantity,
        unit=_only({each.unit or "" for each in figures.sums}) or None,
        expires_on=term.ends_on,
        expires_reason=term.reason,
        starts_on=contract.starts_on if contract else None,
        scope=contract.scope if contract else "",
        other_commitments=0 if is_commitment else len(figures.commitments),
    )


def _other(figures: Figures, currency: str, groups: int) -> CommitmentRow:
    return CommitmentRow(
        **_utilization(figures, currency),
        commitment="other",
        name="",
        type="",
        category="",
        provider="",
        purchased_amount=figures.purchased_amount,
        used_quantity=None,
        unused_quantity=None,
        unit=None,
        expires_on=None,
        expires_reason="Several commitments.",
        other_commitments=groups,
    )


def _only(values: set[str]) -> str:
    """Return the single value, empty if there are several."""
    distinct = values - {""}
    return distinct.pop() if len(distinct) == 1 else ""


def _type(each: CommitmentSum) -> str:
    return each.type or each.category or "(none)"

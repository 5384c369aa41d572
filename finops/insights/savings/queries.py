"""Savings: the query of the page and of the tool `listSavingsRecommendations`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from accounts.models import Account
from finops.costs.answers import AccountRef, AppliedPeriod
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import uncovered_words
from finops.costs.spend_query import SpendQuery
from finops.insights.cost_scope import CostReader, check_currency, resolve_scope
from finops.insights.models import RecommendationRefresh, SavingsDismissal
from finops.insights.savings.candidates import PLACES, RULES, Piece, SavingCandidate
from finops.insights.savings.display import SavingsDisplay, savings_display
from finops.insights.savings.freshness import freshness_of, incomplete_text, recommendation_refreshes
from finops.insights.savings.issue_links import issues_by_saving
from finops.insights.savings.recommendations import (
    SavingsReader,
    SavingsResult,
    find_candidates,
    find_with_marks,
    outcomes,
)
from finops.insights.savings.schemas import (
    BilledSaving,
    Evidence,
    RealisedSaving,
    Recommendation,
    SavingsAnswer,
    SavingsQuery,
    SavingsTotal,
)
from finops.insights.savings.text import DISMISSED, OPEN, summary_of
from finops.lib.answers import group_by
from finops.lib.cost_access import sees_whole_account
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.money import exact_sum, ratio
from finops.lib.periods import DateRange

GONE = "No longer in the bills of the last 30 days."
NO_ROW_HINT = (
    "Use status all to include dismissed and done recommendations. "
    "getCommitmentUtilization and querySpend show more."
)
HINT = (
    "Amortized cost; a month is the 30 days of period. A line counts once: instead_of and lowered "
    "state where rules overlapped. Members dismiss recommendations or mark them as done in the "
    "console."
)
SHOWN_EVIDENCE = 5
ALL_ROWS = 1_000_000


def list_savings(
    account: Account,
    query: SavingsQuery,
    *,
    sources: Sources | None = None,
    deadline: float | None = None,
    evidence: int = SHOWN_EVIDENCE,
) -> SavingsAnswer:
    """Return potential savings, the largest first, in amortized cost of the last 30 days that every source has
    delivered.

    `evidence`: number of resources listed for each. Totals are of the open recommendations of the query's rule,
    saving and currency, whatever its status. With a scope, the rules evaluate only its cost lines, and amounts are of
    those. Raises UserError for a cursor of another query and for an unknown scope. Cost: three lake queries, a fourth
    if anything was acted on two weeks ago or earlier, a small one for a scope; each is cached while no file changes.
    """
    question = [query.status, query.rule, query.minimum_saving, query.currency, query.scope_text]
    offset = offset_of(query.cursor, *question)
    sources = sources or load_sources(account)
    cost = CostReader(account, sources, deadline)
    check_currency(cost, query.currency)
    read, unknown = _reader_of(cost, query)
    result, marks = find_with_marks(read)
    display = savings_display(result.days, _currencies(result, marks.values()))
    parts = _Parts(result, marks, outcomes(read, marks.values()), sources.names, display)
    everything = _with_issues(account, _all_recommendations(parts, evidence))
    unmeasured = {row.id for row in everything if row.saving_reason == GONE} if read.filters else set()
    narrowed = [row for row in everything if _is_of(row, query) and row.id not in unmeasured]
    rows = [row for row in narrowed if query.status in ("all", row.status)]
    shown = rows[offset : offset + query.limit]
    truncated = _truncation_note(offset, shown, rows)
    totals, realised = _totals(narrowed), _realised_totals(narrowed)
    refreshes, incomplete = _refreshes(query, sources, result.days)
    return SavingsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=summary_of(
            account, query, totals, rows, realised, incomplete, has_cost=result.days is not None
        ),
        period=_period(result.days) if result.days else None,
        totals=totals,
        recommendations=shown,
        total_recommendations=len(rows),
        realised=realised,
        refreshes=freshness_of(refreshes, sources.names),
        data_through=sources.coverage.complete_through,
        cursor=next_cursor(offset + len(shown), *question) if truncated else "",
        truncated=truncated,
        warnings=[*display.warnings(totals), *unknown, *result.warnings],
        hint=HINT if rows else NO_ROW_HINT,
    )


def _refreshes(
    query: SavingsQuery, sources: Sources, days: DateRange | None
) -> tuple[list[RecommendationRefresh], str]:
    """Return the refreshes of the query's rule, and a clause on what they could not read and on days without bills."""
    refreshes = [row for row in recommendation_refreshes() if query.rule in (None, row.rule)]
    uncovered = uncovered_words(sources.coverage, days) if days else ""
    return refreshes, f"{incomplete_text(refreshes, sources.names)}{uncovered}"


def _reader_of(cost: CostReader, query: SavingsQuery) -> tuple[SavingsReader, list[str]]:
    """Return the reader of a query's scope, with warnings about values under an earlier name."""
    filters, warnings = resolve_scope(cost, query)
    return SavingsReader(cost.account, cost.sources, cost.deadline, query, filters), warnings


def _truncation_note(offset: int, shown: Sequence[Recommendation], rows: Sequence[Recommendation]) -> str:
    last = offset + len(shown)
    return f"{offset + 1} to {last} of {len(rows)}. Use cursor for the next page." if last < len(rows) else ""


def shares_of_cost(account: Account, answer: SavingsAnswer) -> list[tuple[SavingsTotal, Decimal | None]]:
    """Return each total with its potential savings as a share of the amortized cost of the same days; None if there
    is no cost. One lake query, none without a total. Raises UserError."""
    if answer.period is None or not answer.totals:
        return [(total, None) for total in answer.totals]
    days = SpendQuery(start_date=answer.period.start_date, end_date=answer.period.end_date, basis="amortized")
    cost = {total.currency: total.amount for total in query_spend(account, days).totals}
    return [
        (total, ratio(total.monthly_saving, cost.get(total.currency, Decimal(0)))) for total in answer.totals
    ]


def recommendation(account: Account, key: str) -> tuple[SavingCandidate | None, SavingsDismissal | None]:
    """Return a recommendation as the bills show it now, with the decisions of people; None if it does not exist."""
    mark = SavingsDismissal.objects.filter(key=key).first()
    dismissed = SavingsDismissal.objects.filter(status=DISMISSED).values_list("key", flat=True)
    result = find_candidates(SavingsReader(account, load_sources(account)), list(dismissed))
    every = [*result.open, *result.dismissed_candidates]
    candidate = next((each for each in every if each.key == key), None)
    return candidate, mark if candidate or sees_whole_account() else None


def _with_issues(account: Account, rows: list[Recommendation]) -> list[Recommendation]:
    issues = issues_by_saving(account)
    return [msgspec.structs.replace(row, issues=issues[row.id]) if row.id in issues else row for row in rows]


def _period(days: DateRange) -> AppliedPeriod:
    return AppliedPeriod(start_date=days.start, end_date=days.end, days=days.days, name="", unfinished=False)


def _is_of(row: Recommendation, query: SavingsQuery) -> bool:
    """Return whether it matches the query, whatever its status."""
    return (
        query.rule in (None, row.rule)
        and query.currency.strip().upper() in ("", row.currency, row.billed.currency if row.billed else "")
        and (query.minimum_saving is None or (row.monthly_saving or Decimal(0)) >= query.minimum_saving)
    )


@dataclass(frozen=True)
class _Parts:
    """Parts of recommendations: what the bills show, decisions of people, and the display currency."""

    result: SavingsResult
    marks: Mapping[str, SavingsDismissal]
    realised: Mapping[str, RealisedSaving]
    names: Mapping[str, str]
    display: SavingsDisplay


def _currencies(result: SavingsResult, marks: Iterable[SavingsDismissal]) -> set[str]:
    candidates = [*result.open, *result.dismissed_candidates]
    return {each.currency for each in candidates} | {mark.currency for mark in marks}


def _all_recommendations(parts: _Parts, evidence: int) -> list[Recommendation]:
    """Return the recommendations of the bills, and marked ones that are no longer in the bills."""
    candidates = [*parts.result.open, *parts.result.dismissed_candidates]
    gone = parts.marks.keys() - {each.key for each in candidates}
    rows = [_row(each, parts, evidence) for each in candidates if parts.display.shows(each.currency)]
    rows += [
        _past_recommendation(parts.marks[key], parts)
        for key in gone
        if parts.display.shows(parts.marks[key].currency)
    ]

    def rank(row: Recommendation) -> tuple[Decimal, int, tuple[str, ...]]:
        """Sort key: the potential saving or waste, then the rule, then names."""
        names = (row.title, row.source, row.currency, row.id)
        return -(row.monthly_saving or row.monthly_waste or Decimal(0)), PLACES.get(row.rule, 0), names

    return sorted(rows, key=rank)


def _row(each: SavingCandidate, parts: _Parts, evidence: int) -> Recommendation:
    rule, mark, display = RULES[each.rule], parts.marks.get(each.key), parts.display
    pieces = sorted(each.pieces, key=_evidence_order)
    return Recommendation(
        id=each.key,
        rule=each.rule,
        status=mark.status if mark else OPEN,
        title=each.title,
        advice=each.advice,
        monthly_saving=display.saving(pieces),
        monthly_waste=None if each.waste is None else display.cost(pieces),
        monthly_cost=display.cost(pieces),
        currency=display.code(each.currency),
        billed=_in_billing_currency(each) if each.currency in display.rates else None,
        effort=each.effort or rule.effort,
        risk=each.risk or rule.risk,
        risk_reason=each.risk_reason or rule.why,
        formula=each.formula,
        source=parts.names.get(each.source, each.source),
        provider=each.provider,
        service=each.service,
        services=sorted(each.services) if len(each.services) > 1 else [],
        account=each.account_name,
        evidence=[_evidence(piece, display) for piece in pieces[:evidence]],
        evidence_count=len(pieces),
        saving_reason=each.reason,
        instead_of=sorted(each.instead_of),
        lowered=each.lowered,
        realised=display.realised_saving(parts.realised.get(each.key)),
        **_mark_fields(mark),
    )


def _evidence_order(piece: Piece) -> tuple[Decimal, tuple[str, ...]]:
    """Sort key: the largest amount first, then names."""
    line = piece.line
    return -(piece.saving or piece.cost), (
        line.resource,
        line.usage_type,
        line.account,
        line.region,
        piece.name,
    )


def _in_billing_currency(each: SavingCandidate) -> BilledSaving:
    return BilledSaving(
        currency=each.currency,
        monthly_saving=each.saving,
        monthly_waste=each.waste,
        monthly_cost=each.cost,
    )


def _mark_fields(mark: SavingsDismissal | None) -> dict[str, Any]:
    if mark is None:
        return {}
    return {
        "note": mark.reason,
        "marked_by": mark.marked_by_label,
        "marked_at": mark.marked_at,
        "acted_on": mark.acted_on,
    }


def _evidence(piece: Piece, display: SavingsDisplay) -> Evidence:
    line = piece.line
    code = line.currency
    return Evidence(
        resource=line.resource,
        name=piece.name,
        usage_type=line.usage_type,
        account=line.account,
        region=line.region,
        cost=display.amount(piece.cost, code),
        saving=None if piece.saving is None else display.amount(piece.saving, code),
        currency=display.code(code),
        note=piece.note,
    )


def _past_recommendation(mark: SavingsDismissal, parts: _Parts) -> Recommendation:
    rule = RULES[mark.rule]
    source = str(mark.scope.get("source", ""))
    return Recommendation(
        id=mark.key,
        rule=mark.rule,
        status=mark.status,
        title=mark.title,
        advice="",
        monthly_saving=None,
        monthly_cost=Decimal(0),
        currency=parts.display.code(mark.currency),
        effort=rule.effort,
        risk=rule.risk,
        risk_reason=rule.why,
        formula="",
        source=parts.names.get(source, source),
        provider="",
        service="",
        account="",
        evidence=[],
        evidence_count=0,
        saving_reason=GONE,
        realised=parts.display.realised_saving(parts.realised.get(mark.key)),
        **_mark_fields(mark),
    )


def _totals(rows: Sequence[Recommendation]) -> list[SavingsTotal]:
    """Return totals of the open recommendations by currency: each bill line is in one of them at most; waste is
    separate."""
    by_currency = group_by((row for row in rows if row.status == OPEN), lambda row: row.currency)
    totals = [
        SavingsTotal(
            monthly_saving=exact_sum(row.monthly_saving or Decimal(0) for row in group),
            currency=currency,
            recommendations=sum(row.monthly_waste is None for row in group),
            unknown=sum(row.monthly_saving is None and row.monthly_waste is None for row in group),
            monthly_waste=exact_sum(row.monthly_waste or Decimal(0) for row in group),
            unused_commitments=sum(row.monthly_waste is not None for row in group),
        )
        for currency, group in by_currency.items()
    ]
    return sorted(totals, key=lambda total: (-total.monthly_saving, -total.monthly_waste, total.currency))


def _realised_totals(rows: Sequence[Recommendation]) -> list[RealisedSaving]:
    """Return realized savings so far by currency, and avoided waste separately; only of recommendations that are old
    enough."""
    by_kind: dict[tuple[bool, str], list[RealisedSaving]] = defaultdict(list)
    for row in rows:
        if row.realised is not None and row.realised.before is not None:
            by_kind[row.realised.waste_avoided is not None, row.currency].append(row.realised)
    return [
        RealisedSaving(
            before=exact_sum(each.before or Decimal(0) for each in group),
            after=exact_sum(each.after or Decimal(0) for each in group),
            saved=None if is_waste else exact_sum(each.saved or Decimal(0) for each in group),
            currency=currency,
            reason="",
            waste_avoided=exact_sum(each.waste_avoided or Decimal(0) for each in group) if is_waste else None,
        )
        for (is_waste, currency), group in sorted(by_kind.items())
    ]

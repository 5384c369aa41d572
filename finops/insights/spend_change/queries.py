"""Why spend changed: the one query behind the page What changed and the tool explainSpendChange."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from accounts.models import Account
from finops.costs.answers import ViewUsed
from finops.costs.comparison import ComparisonRanges
from finops.costs.queries.filter_values import FilterFindings, look_up
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import MAX_SUMS, Question, plan_of, resolve_query
from finops.costs.queries.spend_answer import not_comparable
from finops.insights.spend_change.answer_builder import ChangeFacts, build_answer, describe_left_out
from finops.insights.spend_change.answers import SpendChangeAnswer
from finops.insights.spend_change.lake import ChangePlan, MeteredSum, read_sums
from finops.insights.spend_change.related_events import RelatedEventFacts, find_related_events
from finops.insights.spend_change.spend_change_query import SpendChangeQuery, earlier_days, spend_question
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.answers import largest_that_fits
from finops.lib.errors import UserError
from finops.lib.periods import DateRange

Fits = Callable[[SpendChangeAnswer], bool]

NOT_METERED = (
    f"There are more than {MAX_SUMS:,} sums of SKUs here, so price and volume are not told apart. Filter, or group by "
    "something coarser."
)


@dataclass(frozen=True)
class _ReadResult:
    """The sums of both sides; `note` when they do not tell SKUs apart."""

    sums: list[MeteredSum]
    metered: bool
    note: str = ""


def explain_spend_change(
    account: Account, query: SpendChangeQuery, *, deadline: float | None = None, fits: Fits | None = None
) -> SpendChangeAnswer:
    """What moved between two periods, by group, and why; the moves of a currency add up to its change exactly.

    Both sides are days with complete data only. `fits` says whether an answer is small enough: fewer moves are listed
    until one is. Raises UserError for what the caller can repair. Cost: one lake query, one or two more with filters,
    and another where anomalies or new sources are of these days (SKUs of every group are told apart, so more rows come back than querySpend's: 20,000 take 0.2 s).
    """
    sources = load_sources(account)
    question = resolve_query(account, spend_question(query), sources)
    compared = _compared_periods(query, question, sources)
    facts = _facts(account, query, question, compared, sources, deadline)
    return largest_that_fits(lambda top: build_answer(facts, top), query.top, fits)


def _compared_periods(query: SpendChangeQuery, question: Question, sources: Sources) -> ComparisonRanges:
    named = earlier_days(query, question.days)
    compared = question.compared or ComparisonRanges()
    return compared.against(named) if named and compared.current else compared


def _facts(
    account: Account,
    query: SpendChangeQuery,
    question: Question,
    compared: ComparisonRanges,
    sources: Sources,
    deadline: float | None,
) -> ChangeFacts:
    current, previous = compared.current, compared.previous
    reason = compared.reason
    if current is not None and previous is not None:
        reason = not_comparable(sources.coverage, previous)
    facts = ChangeFacts(
        account=account,
        days=question.days,
        current=current,
        previous=previous,
        dimensions=question.dimensions,
        view=question.view,
        sources=sources,
        filtered=bool(question.filters),
        reason=reason,
    )
    if current is None or previous is None or reason:
        return facts
    plan = replace(
        _plan(question, question.view, current, previous),
        source_overrides=compared.source_overrides,
        whole=question.days,
    )
    read = _read(account, plan, sources, deadline)
    findings, events = (
        _findings(account, question, sources, deadline),
        find_related_events(
            RelatedEventFacts(account, current, previous, sources, question.filters, deadline)
        ),
    )
    return replace(
        facts,
        sums=[each for each in read.sums if each.is_compared],
        metered=read.metered,
        note=read.note,
        findings=findings,
        beside=events,
        left_out=describe_left_out(question.days, compared, sources, read.sums),
    )


def _plan(question: Question, view: ViewUsed, current: DateRange, previous: DateRange) -> ChangePlan:
    return ChangePlan(
        current=current,
        previous=previous,
        dimensions=question.dimensions,
        filters=question.filters,
        basis=view.basis,
        categories=plan_of(question).categories,
    )


def _read(account: Account, plan: ChangePlan, sources: Sources, deadline: float | None) -> _ReadResult:
    sums = _run(account, plan, sources, deadline)
    if sums is not None:
        return _ReadResult(sums, metered=True)
    sums = _run(account, replace(plan, metered=False), sources, deadline)
    if sums is None:
        names = " and ".join(dimension.name for dimension in plan.dimensions)
        raise UserError(
            f"The days have more than {MAX_SUMS:,} groups by {names}. Ask for fewer days, filter, or group by "
            "something coarser.",
            field="group_by",
        )
    return _ReadResult(sums, metered=False, note=NOT_METERED)


def _run(
    account: Account, plan: ChangePlan, sources: Sources, deadline: float | None
) -> list[MeteredSum] | None:
    """None when there are more sums than fit in memory."""
    table = engine.run(
        account,
        Kind.COST,
        plan.days.start,
        plan.days.end,
        plan,
        tag_keys=plan.tag_keys,
        allow_rollups=True,
        manifest=sources.manifest,
        deadline=deadline,
    )
    return read_sums(plan, table) if table.num_rows <= MAX_SUMS else None


def _findings(
    account: Account, question: Question, sources: Sources, deadline: float | None
) -> FilterFindings:
    if not question.filters:
        return FilterFindings()
    return look_up(account, plan_of(question), deadline, sources.manifest)

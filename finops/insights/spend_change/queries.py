"""Why spend changed: the one query behind the page What changed and the tool explainSpendChange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

from accounts.models import Account
from finops.costs.comparison import ComparisonRanges
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.source_notes import selected_sources
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import MAX_SUMS, Question, plan_of, resolve_query, run_plan
from finops.costs.queries.spend_answer import left_out_parts, not_comparable
from finops.costs.queries.spend_words import left_out_clause
from finops.exchange_rates.missing_rates import missing_rate_warnings
from finops.insights.cost_scope import CostReader
from finops.insights.spend_change.answer import ChangeFacts, build_answer, describe_left_out
from finops.insights.spend_change.candidates import change_candidates
from finops.insights.spend_change.lake import ChangePlan, MeteredSum, read_sums
from finops.insights.spend_change.schemas import (
    RelatedEvent,
    SpendChangeAnswer,
    SpendChangeQuery,
    earlier_days,
    spend_question,
)
from finops.lib.answers import group_by, largest_that_fits
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from finops.lib.registry import Registry

MOST = 10
NOT_METERED = (
    f"More than {MAX_SUMS:,} SKU totals, so price and volume are not separated. Filter, or group by a "
    "coarser dimension."
)

Fits = Callable[[SpendChangeAnswer], bool]


def explain_spend_change(
    account: Account,
    query: SpendChangeQuery,
    *,
    sources: Sources | None = None,
    deadline: float | None = None,
    fits: Fits | None = None,
) -> SpendChangeAnswer:
    """Return the changes between two periods by group, with their effects; the changes of a currency add up to its
    total.

    Both sides have days with complete data only. `fits` decides whether an answer is small enough; else fewer changes
    are listed. Raises UserError for errors that the caller can correct. Cost: one lake query, one or two more with
    filters, and another if anomalies or new sources are on these days (SKUs of every group are separate, so more rows
    are returned than by querySpend: 20,000 take 0.2 s).
    """
    sources = sources or load_sources(account)
    question = resolve_query(account, spend_question(query), sources)
    compared = question.compared or ComparisonRanges()
    named = earlier_days(query, question.days)
    if named and compared.current:
        compared = compared.against(named)
    facts = _facts(CostReader(account, sources, deadline), question, compared)
    return largest_that_fits(lambda limit: build_answer(facts, limit), query.limit, fits)


def _facts(reader: CostReader, question: Question, compared: ComparisonRanges) -> ChangeFacts:
    sources = reader.sources
    current, previous, reason = compared.current, compared.previous, compared.reason
    if current is not None and previous is not None:
        reason = not_comparable(sources.coverage, previous)
    facts = ChangeFacts(
        account=reader.account,
        days=question.days,
        current=current,
        previous=previous,
        dimensions=question.dimensions,
        view=question.view,
        sources=sources,
        filters=question.filters,
        reason=reason,
    )
    if current is None or previous is None or reason:
        return facts
    plan = ChangePlan(
        current=current,
        previous=previous,
        dimensions=question.dimensions,
        filters=question.filters,
        basis=question.view.basis,
        categories=plan_of(question).categories,
        source_overrides=compared.source_overrides,
        whole=question.days,
    )
    sums, metered = _read(reader, plan)
    if missing := _missing_rates(sums):
        # What one side alone lacks would look like a change.
        return replace(facts, reason=missing)
    selected = selected_sources(reader.account, sources, question.filters, question.days)
    candidates, candidates_note = change_candidates(reader, plan)
    return replace(
        facts,
        sums=[each for each in sums if each.is_compared],
        metered=metered,
        note="" if metered else NOT_METERED,
        findings=reader.look_up(question),
        beside=find_related_events(RelatedEventFacts(reader, current, previous, question.filters)),
        candidates=candidates,
        candidates_note=candidates_note,
        left_out=describe_left_out(question.days, compared, sources, sums, selected),
        left_out_categories=_left_out_categories(reader, question, plan),
    )


def _left_out_categories(reader: CostReader, question: Question, plan: ChangePlan) -> str:
    """Return a clause on the charge categories that the change does not count, on both sides. One lake query, none if
    all count."""
    if not plan.categories:
        return ""
    sides = replace(
        plan_of(question),
        dimensions=(),
        compared=plan.current,
        previous=plan.previous,
        source_overrides=plan.source_overrides,
    )
    sums = run_plan(reader.account, sides, reader.deadline, reader.sources.manifest)
    clauses = [
        left_out_clause(
            left_out_parts(sides, [each._replace(amount=getattr(each, side)) for each in sums]), when
        )
        for side, when in (("compared", " now"), ("previous", " before"))
    ]
    text = " and".join(each.removeprefix(",") for each in clauses if each)
    return f",{text}" if text else ""


def _missing_rates(sums: Sequence[MeteredSum]) -> str:
    """Return the amounts of both sides without a rate to the display currency; empty if there are none, or nothing is
    converted."""
    both = group_by(sums, lambda each: each.currency)
    amounts = {
        currency: exact_sum(amount for each in sides for amount in (each.now.amount, each.before.amount))
        for currency, sides in both.items()
    }
    return " ".join(missing_rate_warnings(amounts))


def _read(reader: CostReader, plan: ChangePlan) -> tuple[list[MeteredSum], bool]:
    """Return the sums of both sides, and whether they separate SKUs, which they do not if there are too many."""
    for metered in (True, False):
        plan = replace(plan, metered=metered)
        table = reader.run(plan.days, plan, plan.tag_keys)
        if table.num_rows <= MAX_SUMS:
            return read_sums(plan, table), metered
    names = " and ".join(dimension.name for dimension in plan.dimensions)
    raise UserError(
        f"More than {MAX_SUMS:,} groups by {names}. Use fewer days, filter, or group by a coarser dimension.",
        field="group_by",
    )


@dataclass(frozen=True)
class RelatedEventFacts:
    """Facts about a change for finders of related events. `days` are the later days, `previous` the earlier;
    `filters` are those of the change: an event outside them is not related."""

    reader: CostReader
    days: DateRange
    previous: DateRange
    filters: tuple[ResolvedFilter, ...] = ()

    def sources_with_cost(self) -> set[str]:
        """Return ids of the sources with a matching line in the later days. One lake query."""
        tag_keys = [key for item in self.filters for key in item.dimension.tag_keys]
        return set(self.reader.run(self.days, _SourcesBuild(self.filters), tag_keys)["source"].to_pylist())


@dataclass(frozen=True)
class _SourcesBuild:
    filters: tuple[ResolvedFilter, ...]

    def __call__(self, table: Any) -> Any:
        return table.filter(reduce(and_, all_of(table, self.filters))).select("source").distinct()


related_events: Registry[Callable[[RelatedEventFacts], list[RelatedEvent]]] = Registry("related events")


def find_related_events(facts: RelatedEventFacts) -> list[RelatedEvent]:
    """Return the events of all finders by day; at most MOST."""
    events = [each for finder in related_events.values() for each in finder(facts)]
    return sorted(events, key=lambda each: each.day)[:MOST]


@related_events.register("new_sources")
def _new_sources(facts: RelatedEventFacts) -> list[RelatedEvent]:
    """Return sources without cost in the earlier days: all of their cost is a change of the data, not of usage."""
    sources = facts.reader.sources
    new_spans = [
        span
        for span in sources.coverage.sources.values()
        if span.source_id in sources.health and facts.previous.end < span.first_day <= facts.days.end
    ]
    with_cost = facts.sources_with_cost() if new_spans and facts.filters else None
    return [
        RelatedEvent(
            kind="new_source",
            day=span.first_day,
            what=(
                f"First cost lines of source {sources.health[span.source_id].name!r}: all of its "
                "cost counts as new."
            ),
        )
        for span in new_spans
        if with_cost is None or str(span.source_id) in with_cost
    ]

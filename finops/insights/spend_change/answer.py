"""Builds the answer about a change of spend from sums. Pure: exact Decimal arithmetic, no query."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from accounts.models import Account
from finops.change_events.schemas import ChangeCandidate
from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import AccountRef, AppliedCostView
from finops.costs.comparison import ComparisonRanges, Sides, one_sided_of, source_override_sentences
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import Dimension, no_values_clause
from finops.costs.filters import ResolvedFilter, dimension_warnings
from finops.costs.queries.closed_months import restatement_clause
from finops.costs.queries.filter_values import FilterFindings
from finops.costs.queries.source_notes import SourceNotes, source_notes
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_answer import OTHER
from finops.costs.queries.spend_words import day_span, incomplete_place
from finops.insights.spend_change import text
from finops.insights.spend_change.effects import Parts, main_of, parts_of, sum_parts
from finops.insights.spend_change.lake import MeteredSum
from finops.insights.spend_change.schemas import (
    Cause,
    ChangeTotal,
    ComparedDays,
    Effects,
    Move,
    RelatedEvent,
    SpendChangeAnswer,
)
from finops.lib.answers import group_by
from finops.lib.money import currencies_by_amount, exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, money

CAUSES = 3
NO_METER = "(none)"
"""Label of lines without a usage type."""


class ChangeItem(NamedTuple):
    """A sum and the effects that changed it."""

    sum: MeteredSum
    parts: Parts


@dataclass(frozen=True)
class ChangeFacts:
    """Input of the answer. Without `current` and `previous`, or with a `reason`, there is no change to explain."""

    account: Account
    days: DateRange
    current: DateRange | None
    previous: DateRange | None
    dimensions: tuple[Dimension, ...]
    view: AppliedCostView
    sources: Sources
    filters: Sequence[ResolvedFilter]
    reason: str
    sums: Sequence[MeteredSum] = ()
    metered: bool = True
    note: str = ""
    findings: FilterFindings = field(default_factory=FilterFindings)
    beside: Sequence[RelatedEvent] = ()
    candidates: Sequence[ChangeCandidate] = ()
    candidates_note: str = ""
    """A sentence if there are more change events than were evaluated."""
    left_out: str = ""
    """Days and sources of the query that are on neither side, as the end of a sentence."""
    left_out_categories: str = ""
    """Charge categories that do not count, with their cost, after the cost view in the first sentence."""

    @cached_property
    def source_notes(self) -> SourceNotes:
        """Sentences about sources without new data. One query."""
        return source_notes(self.account, self.sources, self.filters, self.days)

    @cached_property
    def by_currency(self) -> Mapping[str, list[ChangeItem]]:
        """Items by currency, the one with the largest amounts first."""
        items = (ChangeItem(each, parts_of(each)) for each in self.sums)
        items_by_currency = group_by(items, lambda item: item.sum.currency)
        now = {currency: _amounts(items)[0] for currency, items in items_by_currency.items()}
        return {currency: items_by_currency[currency] for currency in currencies_by_amount(now)}


def build_answer(facts: ChangeFacts, limit: int) -> SpendChangeAnswer:
    """Return the answer without its console_url, with at most that many drivers of each currency."""
    totals = [_total(facts, items) for items in facts.by_currency.values()]
    moves = [move for items in facts.by_currency.values() for move in _moves(facts, items, limit)]
    days = _compared_days(facts)
    sides = [each for each in (facts.current, facts.previous) if each is not None]
    dimensions = [*facts.dimensions, *(each.dimension for each in facts.filters)]
    left_out = (
        no_values_clause(dimensions)
        + facts.left_out
        + facts.findings.clause
        + restatement_clause(facts.sources, sides, facts.view.basis)
    )
    return SpendChangeAnswer(
        account=AccountRef(slug=facts.account.slug, name=facts.account.name),
        summary=text.summary_of(
            facts.account.name,
            f"{facts.view.label}{facts.left_out_categories}",
            days,
            totals,
            moves,
            facts.reason,
            left_out,
            facts.source_notes.clause,
            filtered=bool(facts.filters),
        ),
        view=facts.view,
        days=days,
        group_by=[dimension.name for dimension in facts.dimensions],
        totals=totals,
        moves=moves,
        beside=list(facts.beside),
        candidates=list(facts.candidates),
        resolved_filters=facts.findings.used,
        data_through=facts.sources.coverage.complete_through,
        truncated=text.truncated_of(moves),
        warnings=_warnings(facts, totals),
        hint=text.hint_of(moves, filtered=bool(facts.filters), reason=facts.reason),
    )


def describe_left_out(
    days: DateRange,
    compared: ComparisonRanges,
    sources: Sources,
    sums: Iterable[MeteredSum],
    selected: Collection[int] | None,
) -> str:
    """Return a clause on the incomplete days of the query, with their cost so far, and on sources that compare other
    days or none. The `selected` sources may have cost; None is all."""
    if compared.current is None:
        return ""
    totals = {
        currency: exact_sum(each.left_out for each in own_sums)
        for currency, own_sums in group_by(sums, lambda each: each.currency).items()
    }
    amounts = {currency: total for currency, total in totals.items() if total}
    parts = []
    if amounts:
        costs = join_with_and([money(amounts[name], name) for name in currencies_by_amount(amounts)])
        stopped = sources.coverage.stopped_sources(days)
        which, since = incomplete_place(sources.coverage, days, sources.names_by_id, selected, stopped)
        parts.append(f"{costs}{which} left out: incomplete{since.replace(':', ',', 1)}")
    elif compared.current.end < days.end:
        first = compared.current.end + timedelta(days=1)
        parts.append(f"{day_span(first, days.end)} left out: incomplete")
    parts += [sentence.rstrip(".") for sentence in source_override_sentences(compared, sources.names_by_id)]
    return "".join(f"; {each[0].lower()}{each[1:]}" for each in parts)


def _compared_days(facts: ChangeFacts) -> ComparedDays | None:
    if facts.current is None or facts.previous is None:
        return None
    return ComparedDays(
        start_date=facts.current.start,
        end_date=facts.current.end,
        previous_start_date=facts.previous.start,
        previous_end_date=facts.previous.end,
        note=text.note_of(facts.days, facts.current, facts.previous),
    )


def _warnings(facts: ChangeFacts, totals: Sequence[ChangeTotal]) -> list[str]:
    sentences = [*facts.source_notes.warnings]
    sentences += dimension_warnings([*facts.dimensions, *(each.dimension for each in facts.filters)])
    sentences += facts.findings.warnings
    sentences += [sentence for sentence in (facts.reason, facts.note, facts.candidates_note) if sentence]
    if len(totals) > 1:
        names = ", ".join(total.currency for total in totals)
        sentences.append(
            f"Cost is in {len(totals)} currencies ({names}), which are not added: one change per currency."
        )
    answer_facts = AnswerFacts(facts.account, facts.days, facts.sources)
    return list(dict.fromkeys([*sentences, *warnings_for(answer_facts)]))


def _total(facts: ChangeFacts, items: Sequence[ChangeItem]) -> ChangeTotal:
    figures = _figures(facts, items)
    one_sided = one_sided_of(figures["current_amount"], figures["previous_amount"], _lumps(items))
    return ChangeTotal(**figures, one_sided=one_sided)


def _figures(facts: ChangeFacts, items: Sequence[ChangeItem]) -> dict[str, Any]:
    """Return the fields that totals and drivers have in common."""
    now, before = _amounts(items)
    change = exact_difference(now, before)
    change_ratio = ratio(change, before.copy_abs())
    currency = items[0].sum.currency
    return {
        "current_amount": now,
        "previous_amount": before,
        "change": change,
        "ratio": change_ratio,
        "ratio_reason": "" if change_ratio is not None else "previous_amount is 0.",
        "currency": currency,
        "effects": _effects(items, currency) if facts.metered else None,
    }


def _lumps(items: Sequence[ChangeItem]) -> Iterator[tuple[Hashable, Sides]]:
    """Return monthly and one-time charges by group and service."""
    for item in items:
        if item.sum.lump is not None:
            yield (item.sum.keys, item.sum.lump, item.sum.part), (item.sum.now.amount, item.sum.before.amount)


def _moves(facts: ChangeFacts, items: Sequence[ChangeItem], limit: int) -> list[Move]:
    """Return the groups by size of their change, then the rest as one."""
    groups = group_by(items, lambda item: item.sum.keys).values()
    ranked = sorted(groups, key=lambda group: (-abs(exact_difference(*_amounts(group))), group[0].sum.keys))
    moves = [_move(facts, group) for group in ranked[:limit]]
    small_items = [item for group in ranked[limit:] for item in group]
    if small_items:
        group = {dimension.name: OTHER for dimension in facts.dimensions}
        other_groups = len(ranked) - limit
        moves.append(Move(**_figures(facts, small_items), group=group, kind=OTHER, other_groups=other_groups))
    return moves


def _move(facts: ChangeFacts, items: Sequence[ChangeItem]) -> Move:
    names = [dimension.name for dimension in facts.dimensions]
    return Move(
        **_figures(facts, items),
        group=dict(zip(names, items[0].sum.keys, strict=True)),
        kind=_kind(items),
        why=_main_reason(items),
        labels=_labels(names, items),
        causes=_causes(items, items[0].sum.currency) if facts.metered else [],
    )


def _kind(items: Sequence[ChangeItem]) -> str:
    if not any(item.sum.before.is_there for item in items):
        return "new"
    if not any(item.sum.now.is_there for item in items):
        return "gone"
    now, before = _amounts(items)
    return "up" if now > before else "down" if now < before else "same"


def _main_reason(items: Sequence[ChangeItem]) -> str:
    """Return the largest effect; for credits and refunds, which have the opposite sign, whether they began or ended."""
    main = sum_parts(item.parts for item in items).main
    own_items = [item for item in items if getattr(item.parts, main)]
    now = any(item.sum.now.is_there for item in own_items)
    before = any(item.sum.before.is_there for item in own_items)
    return main_of(main, exact_sum(getattr(item.parts, main) for item in own_items), now=now, before=before)


def _labels(names: Sequence[str], items: Sequence[ChangeItem]) -> dict[str, str]:
    """Return the name of each id, the newest if it changed."""
    result = {}
    for at, name in enumerate(names):
        labels = [label for item in items if (label := item.sum.labels[at])]
        if labels and strip_date_prefix(max(labels)) != items[0].sum.keys[at]:
            result[name] = strip_date_prefix(max(labels))
    return result


def _causes(items: Sequence[ChangeItem], currency: str) -> list[Cause]:
    """Return the usage types with the largest changes."""
    by_type = group_by(items, lambda item: item.sum.item or NO_METER)
    parts_by_type = {name: sum_parts(item.parts for item in own_items) for name, own_items in by_type.items()}
    ranked = sorted(parts_by_type, key=lambda name: (-abs(parts_by_type[name].whole), name))
    return [
        Cause(
            usage_type=name,
            effect=_main_reason(by_type[name]),
            change=parts_by_type[name].whole,
            currency=currency,
        )
        for name in ranked[:CAUSES]
        if parts_by_type[name].whole
    ]


def _effects(items: Sequence[ChangeItem], currency: str) -> Effects:
    parts = sum_parts(item.parts for item in items)
    return Effects(
        volume=parts.volume,
        price=parts.price,
        new=parts.new,
        gone=parts.gone,
        credits=parts.credits,
        refunds=parts.refunds,
        unmeasured=parts.unmeasured,
        currency=currency,
    )


def _amounts(items: Sequence[ChangeItem]) -> tuple[Decimal, Decimal]:
    return exact_sum(item.sum.now.amount for item in items), exact_sum(
        item.sum.before.amount for item in items
    )

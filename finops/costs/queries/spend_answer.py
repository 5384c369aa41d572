"""Convert sums to the answer about spend. Pure: exact Decimal arithmetic, no query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import (
    AccountRef,
    AppliedPeriod,
    Change,
    MoneyAmount,
    PartAmount,
    Series,
    SpendAnswer,
    SpendRow,
    SpendTotal,
    in_units,
)
from finops.costs.comparison import (
    NOTHING_COMPLETE,
    ComparisonRanges,
    one_sided_of,
    unequal_days_clause,
)
from finops.costs.coverage import Bucket, Coverage, buckets_of, partial_bucket_warnings
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import no_values_clause
from finops.costs.filters import dimension_warnings
from finops.costs.queries.closed_months import restatement_clause, restatement_warnings
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_hint import hint_of
from finops.costs.queries.spend_lake import PARTS, UNITS, SpendPlan, SpendSum
from finops.costs.queries.spend_words import (
    amounts_of,
    caveat_clause,
    not_final_warning,
    split_preview_clause,
    summary_of,
)
from finops.costs.spend_query import DEFAULT_PERIOD, MAX_TOP, SpendOrder
from finops.exchange_rates.missing_rates import missing_rate_warnings
from finops.lake.engine.conversion import display_currency
from finops.lib.answers import group_by
from finops.lib.money import currencies_by_amount, exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import truncate

OTHER = "other"
ZERO = Decimal(0)

NAMED_UNITS = 10

ENOUGH_DAYS = Decimal("0.9")
"""The share of the earlier side's days that must have data for a change to be computed."""


def assemble(facts: SpendFacts, sums: Sequence[SpendSum]) -> SpendAnswer:
    """Return the whole answer except its console_url, which the caller adds."""
    buckets = buckets_of(facts.plan.granularity, facts.plan.days, facts.sources.coverage)
    totals = totals_of(facts, sums, buckets)
    rows = [row for total in totals for row in _rows(facts, sums, total, buckets)]
    comparison = facts.comparison
    answer = SpendAnswer(
        account=AccountRef(slug=facts.account.slug, name=facts.account.name),
        summary=summary_of(
            facts.account,
            facts.plan,
            facts.view,
            totals,
            rows,
            caveat_clause(facts, sums)
            + no_values_clause(facts.dimensions)
            + (facts.findings.clause if totals else "")
            + split_preview_clause(facts)
            + facts.related_notes.clause
            + (comparison_clause(facts) if totals else "")
            + restatement_clause(facts.sources, facts.plan.ranges, facts.plan.basis),
        ),
        view=facts.view,
        period=period_of(facts),
        granularity=facts.plan.granularity,
        group_by=[dimension.name for dimension in facts.plan.dimensions],
        totals=totals,
        rows=rows,
        comparison=comparison,
        resolved_filters=facts.findings.used,
        data_through=facts.sources.coverage.complete_through,
        truncated=truncation_note(rows, facts.query.limit),
        warnings=[*not_final_warning(facts, sums), *warnings_of(facts, totals, buckets)],
        hint=hint_of(facts.query, facts.view, facts.sources.coverage, totals, rows),
        applied_splits=facts.split_result.applied_splits,
        spread=list(facts.split_result.spread),
        own_amounts=_own_amounts(facts),
    )
    return in_units(answer) if facts.plan.basis in UNITS else answer


def comparison_clause(facts: SpendFacts) -> str:
    """Return a clause on why the requested comparison has no change, else on compared periods of different lengths."""
    if facts.query.compare_to == "none":
        return ""
    compared = facts.compared
    if compared is None or compared.current is None or compared.previous is None:
        return no_change_clause(NOTHING_COMPLETE)
    reason = not_comparable(facts.sources.coverage, compared.previous)
    return no_change_clause(reason) or unequal_days_clause(compared.current, compared.previous)


def no_change_clause(reason: str) -> str:
    """Return a clause of the first sentence with the reason why there is no change; empty without a reason."""
    return f"; not compared: {reason[0].lower()}{reason[1:].rstrip('.')}" if reason else ""


def _own_amounts(facts: SpendFacts) -> list[MoneyAmount] | UnsetType:
    if facts.own_amounts is None:
        return UNSET
    names = currencies_by_amount(facts.own_amounts)
    return [MoneyAmount(amount=facts.own_amounts[name], currency=name) for name in names]


def period_of(facts: SpendFacts) -> AppliedPeriod:
    days, through = facts.plan.days, facts.sources.coverage.complete_through
    return AppliedPeriod(
        start_date=days.start,
        end_date=days.end,
        days=days.days,
        name=facts.query.period or ("" if facts.query.start_date else DEFAULT_PERIOD),
        unfinished=through is None or through < days.end,
    )


def totals_of(facts: SpendFacts, sums: Sequence[SpendSum], buckets: Sequence[Bucket]) -> list[SpendTotal]:
    """Return a total for each currency with lines, the display currency first, then the largest."""
    totals = {
        currency: total_of(facts, sums, currency, buckets) for currency in {part.currency for part in sums}
    }
    in_units = facts.plan.basis in UNITS
    if not in_units and any(
        part.currency != display_currency() and (part.compared or part.previous) for part in sums
    ):
        totals = {name: _drop_change(total) for name, total in totals.items()}
    names = currencies_by_amount({name: each.amount for name, each in totals.items()})
    return [totals[name] for name in sorted(names, key=lambda name: name != display_currency())]


def _drop_change(total: SpendTotal) -> SpendTotal:
    """Drop changes of a converted answer without all rates: cost missing on one side only would look like a change."""
    if not display_currency() or total.change is None:
        return total
    reason = f"Some days have no exchange rate to {display_currency()}."
    return replace(
        total, change=replace(total.change, change=None, ratio=None, one_sided=None, reason=reason)
    )


def total_of(
    facts: SpendFacts, sums: Sequence[SpendSum], currency: str, buckets: Sequence[Bucket]
) -> SpendTotal:
    """Return the total of one currency, its parts, and what the view leaves out."""
    parts = [part for part in sums if part.currency == currency]
    counted = [part for part in parts if facts.plan.counts(part.charge_category)]
    left_out = left_out_parts(facts.plan, parts)
    return SpendTotal(
        amount=exact_sum(part.amount for part in counted),
        currency=currency,
        inside=[] if facts.plan.basis in UNITS else _inside(counted, currency),
        left_out=left_out,
        left_out_amount=exact_sum(part.amount for part in left_out),
        whole_amount=exact_sum(part.amount for part in parts),
        change=_add_one_sided_charges(facts, counted, _change(facts, counted, currency)),
        series=_series(counted, buckets),
    )


def _add_one_sided_charges(
    facts: SpendFacts, counted: Sequence[SpendSum], change: Change | None
) -> Change | None:
    """Add the monthly and one-time charges that decide a total's change; spread charges are on both sides."""
    if change is None or change.previous_amount is None or change.change is None:
        return change
    if facts.query.spread != "none" or facts.plan.basis in UNITS:
        return change
    charges = [
        ((part.lump, part.charge_category, part.keys), (part.compared, part.previous))
        for part in counted
        if part.lump is not None
    ]
    return replace(change, one_sided=one_sided_of(change.current_amount, change.previous_amount, charges))


def _inside(counted: Sequence[SpendSum], currency: str) -> list[PartAmount]:
    return [_part(name, (part for part in counted if part.part == name), currency) for name in PARTS]


def _part(name: str, parts: Iterable[SpendSum], currency: str) -> PartAmount:
    return PartAmount(part=name, amount=exact_sum(part.amount for part in parts), currency=currency)


def left_out_parts(plan: SpendPlan, sums: Sequence[SpendSum]) -> list[PartAmount]:
    """Return the cost that a plan does not count, by currency and charge category."""
    left_out = group_by(
        (part for part in sums if not plan.counts(part.charge_category)),
        lambda part: (part.currency, part.charge_category or "(none)"),
    )
    return [_part(name, parts, currency) for (currency, name), parts in sorted(left_out.items())]


def _rows(
    facts: SpendFacts, sums: Sequence[SpendSum], total: SpendTotal, buckets: Sequence[Bucket]
) -> list[SpendRow]:
    if not facts.plan.dimensions:
        return []
    places: dict[int, list[SpendSum]] = {}
    for group in sums:
        if group.currency == total.currency and facts.plan.counts(group.charge_category):
            places.setdefault(group.place, []).append(group)
    count = max((group.groups for groups in places.values() for group in groups), default=0)
    rows = [_row(facts, groups, total, buckets, count) for groups in places.values()]
    return sorted(rows, key=ORDERS[facts.query.order_by])


def _row(
    facts: SpendFacts, groups: Sequence[SpendSum], total: SpendTotal, buckets: Sequence[Bucket], count: int
) -> SpendRow:
    amount = exact_sum(group.amount for group in groups)
    is_other = groups[0].place >= facts.plan.limit
    share = ratio(amount, total.amount)
    names = [dimension.name for dimension in facts.plan.dimensions]
    return SpendRow(
        group={
            name: key if key is not None else OTHER for name, key in zip(names, groups[0].keys, strict=True)
        },
        amount=amount,
        currency=total.currency,
        share=share,
        share_reason="" if share is not None else "The total is 0.",
        labels={} if is_other else _labels(names, groups),
        other_groups=count - facts.plan.limit if is_other else 0,
        change=_change(facts, groups, total.currency) if _is_comparable(total) else None,
        series=_series(groups, buckets),
    )


def _is_comparable(total: SpendTotal) -> bool:
    """Return whether a total has a change. Without one, the total states the reason once."""
    return total.change is not None and total.change.change is not None


def _labels(names: Sequence[str], groups: Sequence[SpendSum]) -> dict[str, str]:
    """Return the name of each id, the newest if it changed in the period."""
    names_by_dimension = {}
    for index, name in enumerate(names):
        labels = [label for group in groups if (label := group.labels[index])]
        if labels and strip_date_prefix(max(labels)) != groups[0].keys[index]:
            names_by_dimension[name] = strip_date_prefix(max(labels))
    return names_by_dimension


def _series(groups: Sequence[SpendSum], buckets: Sequence[Bucket]) -> Series:
    if not buckets:
        return {}
    amounts: dict[object, Decimal] = {}
    for group in groups:
        amounts[group.bucket] = exact_sum([amounts.get(group.bucket, ZERO), group.amount])
    return {
        bucket.start.isoformat(): amounts.get(bucket.start, ZERO if bucket.has_data else None)
        for bucket in buckets
    }


def _change(facts: SpendFacts, groups: Sequence[SpendSum], currency: str) -> Change | None:
    if facts.compared is None or facts.compared.previous is None:
        return None
    current = exact_sum(group.compared for group in groups)
    previous = exact_sum(group.previous for group in groups)
    reason = not_comparable(facts.sources.coverage, facts.compared.previous)
    if not reason:
        return change_between(current, previous, currency)
    has_previous = facts.sources.coverage.has_data(facts.compared.previous.start, facts.compared.previous.end)
    return Change(
        current_amount=current,
        previous_amount=previous if has_previous else None,
        change=None,
        ratio=None,
        currency=currency,
        reason=reason,
    )


def not_comparable(coverage: Coverage, earlier: DateRange) -> str:
    """Return why the earlier side is not comparable: a change against a few of its days would mislead."""
    count = coverage.days_with_data(earlier)
    if not count:
        return f"The account has no data for {earlier.start} to {earlier.end}."
    if Decimal(count) < earlier.days * ENOUGH_DAYS:
        return f"Only {count} of the {earlier.days} days from {earlier.start} to {earlier.end} have data."
    return ""


def change_between(current: Decimal, previous: Decimal, currency: str) -> Change:
    """Return the change. Its ratio is to the absolute earlier amount, so its sign is the direction of the change."""
    difference = exact_difference(current, previous)
    change_ratio = ratio(difference, previous.copy_abs())
    return Change(
        current_amount=current,
        previous_amount=previous,
        change=difference,
        ratio=change_ratio,
        currency=currency,
        reason="" if change_ratio is not None else "previous_amount is 0.",
    )


def warnings_of(facts: SpendFacts, totals: Sequence[SpendTotal], buckets: Sequence[Bucket]) -> list[str]:
    plan = facts.plan
    answer_facts = AnswerFacts(facts.account, plan.days, facts.sources)
    warnings = [*facts.source_notes.warnings]
    warnings += dimension_warnings(facts.dimensions)
    warnings += facts.findings.warnings
    warnings += facts.related_notes.warnings
    warnings += [*facts.split_result.warnings, *restatement_warnings(facts.sources, plan.ranges, plan.basis)]
    warnings += _unit_warning(totals) if plan.basis in UNITS else _currency_warning(totals)
    warnings += _comparison_warnings(facts)
    warnings += partial_bucket_warnings(plan.granularity, plan.days, buckets)
    warnings += warnings_for(answer_facts)
    return list(dict.fromkeys(warnings))


def _currency_warning(totals: Sequence[SpendTotal]) -> list[str]:
    if warnings := missing_rate_warnings(amounts_of(totals)):
        return warnings
    if len(totals) < 2:
        return []
    names = ", ".join(total.currency for total in totals)
    return [(f"Cost is in {len(totals)} currencies ({names}), which are not added: one total per currency.")]


def _unit_warning(totals: Sequence[SpendTotal]) -> list[str]:
    if len(totals) < 2:
        return []
    names = ", ".join(truncate(total.currency, 40) for total in totals[:NAMED_UNITS])
    more = f" and {len(totals) - NAMED_UNITS} more" if len(totals) > NAMED_UNITS else ""
    return [
        (f"Quantities are in {len(totals)} units ({names}{more}), which are not added: one total per unit.")
    ]


def _comparison_warnings(facts: SpendFacts) -> list[str]:
    if facts.compared is None:
        return []
    if facts.compared.previous is None:
        return [facts.compared.reason]
    comparison = facts.comparison
    warnings = [comparison.note] if comparison and comparison.note else []
    earlier = facts.compared.previous
    count = facts.sources.coverage.days_with_data(earlier)
    if ENOUGH_DAYS * earlier.days <= count < earlier.days:
        warnings.append(f"Only {count} of {earlier.days} days of the previous period have data.")
    return warnings + _new_source_warnings(facts.sources, facts.compared)


def _new_source_warnings(sources: Sources, compared: ComparisonRanges) -> list[str]:
    """Return warnings on sources that only the later side has."""
    if compared.current is None or compared.previous is None:
        return []
    begun = [
        (sources.health[span.source_id].name, span.first_day)
        for span in sources.coverage.sources.values()
        if span.source_id in sources.health and compared.previous.end < span.first_day <= compared.current.end
    ]
    return [
        f"Source {name!r} begins on {day}, after the previous period, so its cost counts as new."
        for name, day in begun
    ]


class _FoldedRow(Protocol):
    @property
    def other_groups(self) -> int: ...


def truncation_note(rows: Sequence[_FoldedRow], limit: int, most: int = MAX_TOP) -> str:
    """Return what `other` contains and how to narrow; empty when every group is listed."""
    folded = sum(row.other_groups for row in rows)
    if not folded:
        return ""
    more = f"raise limit (now {limit}, maximum {most}), " if limit < most else ""
    groups = "1 group is" if folded == 1 else f"{folded} groups are"
    return f"{groups} in the row other: {more}filter, or group by a coarser dimension."


Place = tuple[bool, Decimal, list[str]]


def _listing_order(row: SpendRow) -> Place:
    return bool(row.other_groups), row.amount.copy_negate(), list(row.group.values())


def _change_order(row: SpendRow) -> Place:
    """Return the sort key for the largest change first, whatever its sign; without a comparison the usual order."""
    if row.change is None or row.change.change is None:
        return _listing_order(row)
    return bool(row.other_groups), row.change.change.copy_abs().copy_negate(), list(row.group.values())


ORDERS: Mapping[SpendOrder, Callable[[SpendRow], Place]] = {
    "amount": _listing_order,
    "change": _change_order,
}

"""From sums to the answer about spend. Pure: exact Decimal arithmetic, no query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec.structs import replace

from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import (
    AccountRef,
    Change,
    PartAmount,
    PeriodUsed,
    Series,
    SpendAnswer,
    SpendRow,
    SpendTotal,
    in_units,
)
from finops.costs.comparison import Compared
from finops.costs.coverage import Coverage
from finops.costs.dated_names import undated
from finops.costs.queries.buckets import Bucket, buckets_of, cut_buckets
from finops.costs.queries.closed_months import restated_warning, restated_words
from finops.costs.queries.one_sided import one_sided_of
from finops.costs.queries.row_order import ORDERS
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_clauses import (
    lacking_words,
    not_final,
    not_final_warning,
    shared_words,
    spread_words,
)
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_lake import PARTS, UNITS, SpendPlan, SpendSum
from finops.costs.queries.spend_words import hint_of, summary_of
from finops.costs.spend_query import DEFAULT_PERIOD, MAX_TOP
from finops.lib.money import added, most_first, ratio, subtracted
from finops.lib.periods import DateRange
from finops.lib.spoken import cut

OTHER = "other"
ZERO = Decimal(0)

NAMED_UNITS = 10

ENOUGH_DAYS = Decimal("0.9")
"""The share of the earlier side's days that must have data for a change to be computed."""


def assemble(facts: SpendFacts, sums: Sequence[SpendSum]) -> SpendAnswer:
    """The whole answer but its console_url, which a door knows."""
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
            shared_words(facts)
            + facts.beside.clause
            + not_final(facts, sums)
            + spread_words(facts)
            + lacking_words(facts)
            + restated_words(facts.sources, facts.plan.ranges, facts.plan.basis),
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
        truncated=truncated_of(rows, facts.query.top),
        warnings=[*not_final_warning(facts, sums), *warnings_of(facts, totals, buckets)],
        hint=hint_of(facts.query, facts.view, facts.sources.coverage, totals, rows),
        applied_splits=facts.splitting.applied,
        spread=list(facts.splitting.spread),
    )
    return in_units(answer) if facts.plan.basis in UNITS else answer


def period_of(facts: SpendFacts) -> PeriodUsed:
    days, through = facts.plan.days, facts.sources.coverage.complete_through
    return PeriodUsed(
        start_date=days.start,
        end_date=days.end,
        days=days.days,
        name=facts.query.period or ("" if facts.query.start_date else DEFAULT_PERIOD),
        unfinished=through is None or through < days.end,
    )


def totals_of(facts: SpendFacts, sums: Sequence[SpendSum], buckets: Sequence[Bucket]) -> list[SpendTotal]:
    """One for each currency that has lines, the one of most money first."""
    found = {
        currency: total_of(facts, sums, currency, buckets) for currency in {part.currency for part in sums}
    }
    return [found[currency] for currency in most_first({name: each.amount for name, each in found.items()})]


def total_of(
    facts: SpendFacts, sums: Sequence[SpendSum], currency: str, buckets: Sequence[Bucket]
) -> SpendTotal:
    """The total of one currency, what is inside it and what the view leaves out."""
    parts = [part for part in sums if part.currency == currency]
    counted = [part for part in parts if _counts(facts.plan, part)]
    left = [part for part in parts if not _counts(facts.plan, part)]
    return SpendTotal(
        amount=added(part.amount for part in counted),
        currency=currency,
        inside=[] if facts.plan.basis in UNITS else _inside(counted, currency),
        left_out=_by_category(left, currency),
        left_out_amount=added(part.amount for part in left),
        whole_amount=added(part.amount for part in parts),
        change=_with_one_sided(facts, counted, _change(facts, counted, currency)),
        series=_series(counted, buckets),
    )


def _with_one_sided(facts: SpendFacts, counted: Sequence[SpendSum], change: Change | None) -> Change | None:
    """A total's change with what decides it of charges for a month or once; spread charges are on both sides."""
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


def _counts(plan: SpendPlan, part: SpendSum) -> bool:
    return not plan.categories or part.charge_category in plan.categories


def _part(name: str, parts: Iterable[SpendSum], currency: str) -> PartAmount:
    return PartAmount(part=name, amount=added(part.amount for part in parts), currency=currency)


def _by_category(parts: Sequence[SpendSum], currency: str) -> list[PartAmount]:
    names = sorted({part.charge_category or "(none)" for part in parts})
    return [
        _part(name, (part for part in parts if (part.charge_category or "(none)") == name), currency)
        for name in names
    ]


def _rows(
    facts: SpendFacts, sums: Sequence[SpendSum], total: SpendTotal, buckets: Sequence[Bucket]
) -> list[SpendRow]:
    if not facts.plan.dimensions:
        return []
    places: dict[int, list[SpendSum]] = {}
    for group in sums:
        if group.currency == total.currency and _counts(facts.plan, group):
            places.setdefault(group.place, []).append(group)
    count = max((group.groups for groups in places.values() for group in groups), default=0)
    rows = [_row(facts, groups, total, buckets, count) for groups in places.values()]
    return sorted(rows, key=ORDERS[facts.query.order_by])


def _row(
    facts: SpendFacts, groups: Sequence[SpendSum], total: SpendTotal, buckets: Sequence[Bucket], count: int
) -> SpendRow:
    amount = added(group.amount for group in groups)
    is_other = groups[0].place >= facts.plan.top
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
        other_groups=count - facts.plan.top if is_other else 0,
        change=_change(facts, groups, total.currency) if _is_comparable(total) else None,
        series=_series(groups, buckets),
    )


def _is_comparable(total: SpendTotal) -> bool:
    """Where nothing can be compared the total says why, once."""
    return total.change is not None and total.change.change is not None


def _labels(names: Sequence[str], groups: Sequence[SpendSum]) -> dict[str, str]:
    """The name of each id, the newest when it changed in the period."""
    found = {}
    for index, name in enumerate(names):
        labels = [label for group in groups if (label := group.labels[index])]
        if labels and undated(max(labels)) != groups[0].keys[index]:
            found[name] = undated(max(labels))
    return found


def _series(groups: Sequence[SpendSum], buckets: Sequence[Bucket]) -> Series:
    if not buckets:
        return {}
    amounts: dict[object, Decimal] = {}
    for group in groups:
        amounts[group.bucket] = added([amounts.get(group.bucket, ZERO), group.amount])
    return {
        bucket.start.isoformat(): amounts.get(bucket.start, ZERO if bucket.has_data else None)
        for bucket in buckets
    }


def _change(facts: SpendFacts, groups: Sequence[SpendSum], currency: str) -> Change | None:
    if facts.compared is None or facts.compared.previous is None:
        return None
    current, previous = added(group.compared for group in groups), added(group.previous for group in groups)
    reason = not_comparable(facts.sources.coverage, facts.compared.previous)
    if not reason:
        return change_between(current, previous, currency)
    known = facts.sources.coverage.has_data(facts.compared.previous.start, facts.compared.previous.end)
    return Change(
        current_amount=current,
        previous_amount=previous if known else None,
        change=None,
        ratio=None,
        currency=currency,
        reason=reason,
    )


def not_comparable(coverage: Coverage, earlier: DateRange) -> str:
    """Why the earlier side says too little: a change against a few of its days would mislead."""
    found = coverage.days_with_data(earlier)
    if not found:
        return f"The account has no data for {earlier.start} to {earlier.end}."
    if Decimal(found) < earlier.days * ENOUGH_DAYS:
        return f"Only {found} of the {earlier.days} days from {earlier.start} to {earlier.end} have data."
    return ""


def change_between(current: Decimal, previous: Decimal, currency: str) -> Change:
    """What moved. The ratio is of the size of the earlier amount, so its sign is the direction of the change."""
    difference = subtracted(current, previous)
    moved = ratio(difference, previous.copy_abs())
    return Change(
        current_amount=current,
        previous_amount=previous,
        change=difference,
        ratio=moved,
        currency=currency,
        reason="" if moved is not None else "previous_amount is 0.",
    )


def warnings_of(facts: SpendFacts, totals: Sequence[SpendTotal], buckets: Sequence[Bucket]) -> list[str]:
    plan = facts.plan
    used = [*plan.dimensions, *(item.dimension for item in plan.filters)]
    known = AnswerFacts(facts.account, plan.days, facts.sources.coverage, facts.sources.health)
    found = [sentence for dimension in used for sentence in dimension.warnings]
    found += facts.findings.warnings
    found += facts.beside.warnings
    found += [*facts.splitting.warnings, *restated_warning(facts.sources, plan.ranges, plan.basis)]
    found += _unit_warning(totals) if plan.basis in UNITS else _currency_warning(totals)
    found += _comparison_warnings(facts)
    found += cut_buckets(plan.granularity, plan.days, buckets)
    found += warnings_for(known)
    return list(dict.fromkeys(found))


def _currency_warning(totals: Sequence[SpendTotal]) -> list[str]:
    if len(totals) < 2:
        return []
    names = ", ".join(total.currency for total in totals)
    return [f"Cost is in {len(totals)} currencies ({names}), which are never added: one total for each."]


def _unit_warning(totals: Sequence[SpendTotal]) -> list[str]:
    if len(totals) < 2:
        return []
    names = ", ".join(cut(total.currency, 40) for total in totals[:NAMED_UNITS])
    more = f" and {len(totals) - NAMED_UNITS} more" if len(totals) > NAMED_UNITS else ""
    return [
        f"Quantities are in {len(totals)} units ({names}{more}), which are never added: one total for each."
    ]


def _comparison_warnings(facts: SpendFacts) -> list[str]:
    if facts.compared is None:
        return []
    if facts.compared.previous is None:
        return [facts.compared.reason]
    used = facts.comparison
    found = [used.note] if used and used.note else []
    earlier = facts.compared.previous
    known = facts.sources.coverage.days_with_data(earlier)
    if ENOUGH_DAYS * earlier.days <= known < earlier.days:
        found.append(f"Only {known} of the {earlier.days} earlier days have data.")
    return found + _begun_since(facts.sources, facts.compared)


def _begun_since(sources: Sources, compared: Compared) -> list[str]:
    """Sources that the earlier side has nothing of, and this side has."""
    if compared.current is None or compared.previous is None:
        return []
    begun = [
        (sources.health[span.source_id].name, span.first_day)
        for span in sources.coverage.sources.values()
        if span.source_id in sources.health and compared.previous.end < span.first_day <= compared.current.end
    ]
    return [
        f"Source {name!r} begins on {day}, after the earlier days, so it counts as new."
        for name, day in begun
    ]


def truncated_of(rows: Sequence[SpendRow], top: int) -> str:
    """Says what `other` holds and how to narrow; empty when every group is listed."""
    folded = sum(row.other_groups for row in rows)
    if not folded:
        return ""
    more = f"raise top (now {top}, at most {MAX_TOP}), " if top < MAX_TOP else ""
    groups = "1 group is" if folded == 1 else f"{folded} groups are"
    return f"{groups} summed in the row other: {more}filter, or group by something coarser."

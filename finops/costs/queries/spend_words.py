"""The summary of an answer about spend, and the clauses of its first sentence on what it leaves out,
spreads, or has on incomplete days."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import partial

from accounts.models import Account
from finops.costs.answers import AppliedCostView, PartAmount, SpendRow, SpendTotal
from finops.costs.comparison import one_sided_words, source_override_sentences
from finops.costs.coverage import Coverage
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_lake import COST_COLUMNS, CREDITS, REFUNDS, UNITS, SpendPlan, SpendSum
from finops.exchange_rates.missing_rates import missing_rate_clause, without_rate
from finops.lib.money import currencies_by_amount, exact_difference, exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import (
    join_first,
    join_with_and,
    largest_parts,
    money,
    percent_text,
    quote,
    truncate,
)

NAMED_ROWS = 3
NAMED_ROWS_OF_SEVERAL = 2
NAMED_CURRENCIES = 3
NAMED_CATEGORIES = 4
NAME_LENGTH = 80


def summary_of(
    account: Account,
    plan: SpendPlan,
    view: AppliedCostView,
    totals: Sequence[SpendTotal],
    rows: Sequence[SpendRow],
    incomplete: str = "",
) -> str:
    """Return the summary in one sentence: who spent how much when, the change, what is not final, the largest groups."""
    when = f"from {plan.days.start} to {plan.days.end}"
    if not totals:
        subject = "No cost line matches the filters" if plan.filters else f"{quote(account.name)} has no cost"
        if NO_BILL in incomplete and not plan.filters:
            subject, incomplete = f"{subject} data", incomplete.replace(NO_BILL, "")
        if plan.basis not in COST_COLUMNS:
            subject = f"No cost line{' that the filters choose' if plan.filters else ''} has a {view.measure}"
        return f"{subject} {when}{incomplete}."
    filtered = " within the filters" if plan.filters else ""
    if plan.basis not in COST_COLUMNS:
        texts = [_total_text(total) for total in totals[:NAMED_CURRENCIES]]
        if len(totals) > len(texts):
            texts.append(_more_text(len(totals) - len(texts), "unit" if plan.basis in UNITS else "currency"))
        return (
            f"{quote(account.name)} had a {view.measure} of {join_with_and(texts)}{filtered} {when} "
            f"({' + '.join(view.charge_categories)} charge categories){incomplete}{_largest_rows_text(totals, rows)}."
        )
    amounts = amounts_of(totals)
    left_out = missing_rate_clause(amounts)
    totals = [total for total in totals if total.currency not in without_rate(amounts)] or totals
    spent = join_with_and([_total_text(total) for total in totals])
    return (
        f"{quote(account.name)} spent {spent}{filtered} {when} ({view.label}{left_out_clause(part for total in totals for part in total.left_out)})"
        f"{left_out}{incomplete}{_largest_rows_text(totals, rows)}."
    )


def left_out_clause(left_out: Iterable[PartAmount], when: str = "") -> str:
    """Describe the cost of charge categories that are not counted: ", without 50.00 USD of Tax"; `when` follows."""
    parts = sorted((part for part in left_out if part.amount), key=lambda part: -abs(part.amount))
    if not parts:
        return ""
    texts = [f"{money(part.amount, part.currency)} of {part.part}" for part in parts[:NAMED_CATEGORIES]]
    if len(parts) > NAMED_CATEGORIES:
        texts.append(_more_text(len(parts) - NAMED_CATEGORIES, "charge category"))
    return f", without {join_with_and(texts)}{when}"


def _more_text(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"amounts in {count} more {noun if count == 1 else plural}"


def amounts_of(totals: Sequence[SpendTotal]) -> dict[str, Decimal]:
    """Return amounts by currency."""
    return {total.currency: total.amount for total in totals}


def _total_text(total: SpendTotal) -> str:
    parts = "; ".join(text for text in (_credits_text(total), _change_text(total)) if text)
    return f"{money(total.amount, total.currency)}{f' ({parts})' if parts else ''}"


def _credits_text(total: SpendTotal) -> str:
    """Describe charges without credits and refunds, and these; withdrawn credits are negative here, and added."""
    back = [
        (part.part, part.amount) for part in total.inside if part.part in (CREDITS, REFUNDS) and part.amount
    ]
    if not back:
        return ""
    charges = exact_difference(total.amount, exact_sum(amount for _, amount in back))
    less = [f"{money(-amount, total.currency)} of {name}" for name, amount in back if amount < 0]
    more = [f"{money(amount, total.currency)} of {name} refunded" for name, amount in back if amount > 0]
    words = [f"less {join_with_and(less)}"] if less else []
    words += [f"plus {join_with_and(more)}"] if more else []
    return f"{money(charges, total.currency)} of charges {' '.join(words)}"


def _change_text(total: SpendTotal) -> str:
    change = total.change
    if change is None or change.change is None or change.previous_amount is None:
        return ""
    earlier = money(change.previous_amount, change.currency)
    if change.ratio is None:
        return f"{earlier} before"
    word = "more" if change.change > 0 else "less"
    part = "" if change.current_amount == total.amount else ", on complete days"
    if not change.change:
        return f"the same as before{part}: {earlier}"
    once = (
        one_sided_words(change.current_amount, change.previous_amount, change.one_sided, change.currency)
        if change.one_sided is not None
        else ""
    )
    return f"{percent_text(abs(change.ratio))} {word} than the {earlier} before{part}{once}"


def _largest_rows_text(totals: Sequence[SpendTotal], rows: Sequence[SpendRow]) -> str:
    count = NAMED_ROWS if len(totals) == 1 else NAMED_ROWS_OF_SEVERAL
    texts = []
    for total in totals[:NAMED_CURRENCIES]:
        parts = [
            (_name(row), row.amount, row.share)
            for row in rows
            if row.currency == total.currency and not row.other_groups
        ]
        subject = "it" if len(totals) == 1 else total.currency
        write = partial(money, currency=total.currency)
        text = largest_parts(parts, count, write, most=f"most of {subject} on ")
        texts += [f"; {text}"] if text else []
    return "".join(texts)


def _name(row: SpendRow) -> str:
    name = " / ".join(row.labels.get(dimension, value) for dimension, value in row.group.items())
    return truncate(name, NAME_LENGTH)


NAMED_GAINS = 3


def missing_measure_clause(facts: SpendFacts) -> str:
    """Return a clause on the cost of lines without the measure."""
    if not facts.missing_measure:
        return ""
    basis = facts.query.basis or facts.sources.view.basis
    amounts = join_with_and([each.words(basis) for each in facts.missing_measure])
    return f"; {facts.view.measure} is missing on lines of {amounts}"


def split_preview_clause(facts: SpendFacts) -> str:
    """Return a clause on the totals, or else groups, after splits, which this answer does not include."""
    totals = facts.after_splits.totals
    amounts = [money(totals[currency], currency) for currency in currencies_by_amount(totals)]
    if amounts:
        return f"; after shared-cost splits (splits: after) it is {join_with_and(amounts)}"
    gains: dict[str, list[str]] = {}
    for each in facts.after_splits.gains:
        gains.setdefault(each.name, []).append(money(each.amount, each.currency))
    named = [
        f"{join_with_and(amounts_of_group)} to {quote(name, NAME_LENGTH)}"
        for name, amounts_of_group in list(gains.items())[:NAMED_GAINS]
    ]
    other_count = len(gains) - len(named)
    more = f", and more to {other_count} other{'s' if other_count > 1 else ''}" if other_count else ""
    return f"; shared-cost splits (splits: after) would add {', '.join(named)}{more}" if named else ""


def spread_clause(facts: SpendFacts) -> str:
    """Return a clause on what spreading adds to the totals; empty without spreading."""
    if facts.query.spread == "none":
        return ""
    changes = [each for each in facts.split_result.spread if each.amount]
    if not changes:
        return "; charges of several days are spread evenly over their period, with no effect on these days"
    text = join_with_and(
        [
            f"{money(abs(each.amount), each.currency)} {'more' if each.amount > 0 else 'less'}"
            for each in changes
        ]
    )
    return f"; charges of several days are spread evenly over their period: {text} than on their charge days"


def caveat_clause(facts: SpendFacts, sums: Sequence[SpendSum]) -> str:
    """Return the end of a first sentence: incomplete days, spread charges, and cost without the measure."""
    return not_final(facts, sums) + spread_clause(facts) + missing_measure_clause(facts)


def not_final(facts: SpendFacts, sums: Sequence[SpendSum]) -> str:
    """Return a clause on incomplete days, sources that compare other days, and sources that deliver no new data."""
    amounts = incomplete_amounts(facts.plan, sums)
    coverage, days = facts.sources.coverage, facts.plan.days
    clause = days_clause(coverage, days, amounts, facts.names, facts.selected_sources)
    source_overrides = source_override_sentences(facts.compared, facts.names) if facts.compared else []
    clause += "".join(f"; {each[0].lower()}{each[1:].rstrip('.')}" for each in source_overrides)
    return clause + facts.source_notes.clause


def days_clause(
    coverage: Coverage,
    days: DateRange,
    amounts: Mapping[str, Decimal],
    names: Mapping[int, str],
    selected: Collection[int] | None = None,
) -> str:
    """Return a clause on incomplete days with their amounts, days without bills, and sources without lines on the last
    days: beside the amount of a source that is named there, else after it. Only of the `selected` sources, or of all."""
    first_of = _only(coverage.incomplete_from(days), selected) if amounts else {}
    stopped = [
        source
        for source in coverage.stopped_sources(days)
        if first_of.get(source, date.max) <= coverage.sources[source].last_day
    ]
    clause = incomplete_words(coverage, days, amounts, names, selected, stopped)
    clause += uncovered_words(coverage, days)
    clause += missing_end_words(coverage, days) if amounts else ""
    named = incomplete_sources(coverage, days, names, selected)
    return clause + stopped_words(coverage, [each for each in stopped if each not in named], names)


def missing_end_words(coverage: Coverage, days: DateRange) -> str:
    """Return a clause on the last days of a period that is over, if no bill covers them."""
    newest = max((span.end for span in coverage.covered), default=days.start)
    is_missing = days.start <= newest < days.end < coverage.today
    return f"; no cost lines after {newest}" if is_missing else ""


def stopped_words(coverage: Coverage, sources: Iterable[int], names: Mapping[int, str]) -> str:
    """Return a clause on the last day of sources that stopped."""
    stopped = [
        f"{truncate(names[source], SOURCE_NAME_LENGTH)!r} has no cost lines after {coverage.sources[source].last_day}"
        for source in sources
        if source in names
    ]
    more = [f"{len(stopped) - NAMED_SOURCES} more sources have none"] if len(stopped) > NAMED_SOURCES else []
    return "".join(f"; {each}" for each in [*stopped[:NAMED_SOURCES], *more])


def not_final_warning(facts: SpendFacts, sums: Sequence[SpendSum]) -> list[str]:
    """Return the same as a warning for pages, which do not show the summary."""
    amounts = incomplete_amounts(facts.plan, sums)
    if not amounts:
        return []
    coverage, days = facts.sources.coverage, facts.plan.days
    return [f"{incomplete_text(coverage, days, amounts, facts.names, facts.selected_sources)}."]


NO_BILL = "; no bill covers these days"


def uncovered_words(coverage: Coverage, days: DateRange) -> str:
    """Return a clause on how many of the days have cost data; empty if all do.

    Days after the newest bill count only where the period ends after today: `incomplete_words` names late bills.
    """
    covered = coverage.days_with_data(days)
    if not covered:
        return NO_BILL
    newest = max(span.end for span in coverage.covered)
    end = days.end if days.end > coverage.today else min(days.end, newest)
    until = DateRange(days.start, end)
    if coverage.days_with_data(until) == until.days:
        return ""
    return f"; bills cover {covered} of {days.days} days"


SOURCE_NAME_LENGTH = 60
NAMED_SOURCES = 3


def incomplete_amounts(plan: SpendPlan, sums: Iterable[SpendSum]) -> dict[str, Decimal]:
    """Return the amounts on incomplete days by currency, largest first; zeros are left out."""
    by_currency: dict[str, list[Decimal]] = {}
    for part in sums:
        if part.incomplete and plan.counts(part.charge_category):
            by_currency.setdefault(part.currency, []).append(part.incomplete)
    amounts = {currency: exact_sum(parts) for currency, parts in by_currency.items()}
    return {currency: amounts[currency] for currency in currencies_by_amount(amounts) if amounts[currency]}


def incomplete_words(
    coverage: Coverage,
    days: DateRange,
    amounts: Mapping[str, Decimal],
    names: Mapping[int, str],
    selected: Collection[int] | None = None,
    stopped: Collection[int] = (),
) -> str:
    """Return a clause for the end of a sentence: the part of the amount that is not final, and what is missing. Sources
    that `stopped` are in it only with their amounts, beside their last day.

    Empty if all days are complete, and if only today is missing and has no cost yet.
    """
    first_of = _only(coverage.incomplete_from(days), selected)
    if not first_of:
        return ""
    spans = coverage.sources
    parts = []
    if amounts:
        parts.append(f", of which {incomplete_text(coverage, days, amounts, names, selected, stopped)}")
    missing = [
        source
        for source, first in first_of.items()
        if source not in stopped
        and (spans[source].last_day < first or not amounts)
        and first < min(coverage.today, days.end + timedelta(days=1))
    ]
    count = sum(selected is None or source in selected for source in spans)
    return "".join(parts) + _missing_clause(missing, first_of, names, count)


def _only(by_source: Mapping[int, date], selected: Collection[int] | None) -> dict[int, date]:
    return {source: each for source, each in by_source.items() if selected is None or source in selected}


def incomplete_text(
    coverage: Coverage,
    days: DateRange,
    amounts: Mapping[str, Decimal],
    names: Mapping[int, str],
    selected: Collection[int] | None = None,
    stopped: Collection[int] = (),
) -> str:
    """Return the amounts on incomplete days with their days and, if not all sources are complete to the same day, the
    sources: "20.00 USD of 'AWS' on 2026-03-18 to 2026-03-19 is incomplete"."""
    text = join_with_and([money(amount, currency) for currency, amount in amounts.items()])
    which, since = incomplete_place(coverage, days, names, selected, stopped)
    return f"{text}{which} {'is' if len(amounts) == 1 else 'are'} incomplete{since}"


def incomplete_place(
    coverage: Coverage,
    days: DateRange,
    names: Mapping[int, str],
    selected: Collection[int] | None = None,
    stopped: Collection[int] = (),
) -> tuple[str, str]:
    """Return the text between an amount on incomplete days and its verb, and the text after the word incomplete: the
    days with lines and, if not all sources are complete to the same day, the sources, `stopped` ones with their end."""
    late = _late_by_name(coverage, days, names, selected)
    if not late:
        return f" on {incomplete_span(coverage, days, selected)}", ""
    texts = {source: repr(truncate(names[source], SOURCE_NAME_LENGTH)) for source in late}
    ends = {source: f" (no cost lines after {coverage.sources[source].last_day})" for source in stopped}
    if len({*late.values()}) == 1:
        which = join_first([f"{text}{ends.get(source, '')}" for source, text in texts.items()], NAMED_SOURCES)
        return f" of {which} on {incomplete_span(coverage, days, selected)}", ""
    since = [f"{texts[source]} from {first}{ends.get(source, '')}" for source, first in late.items()]
    return "", f": {join_first(since, NAMED_SOURCES)}"


def incomplete_sources(
    coverage: Coverage, days: DateRange, names: Mapping[int, str], selected: Collection[int] | None = None
) -> list[int]:
    """Return the sources that `incomplete_place` names."""
    return [*_late_by_name(coverage, days, names, selected)][:NAMED_SOURCES]


def _late_by_name(
    coverage: Coverage, days: DateRange, names: Mapping[int, str], selected: Collection[int] | None
) -> dict[int, date]:
    """Return the first incomplete day of each source to name; empty if all are complete to the same day."""
    first_of = _first_with_lines(coverage, days, selected)
    last_days = {coverage.last_complete_days.get(source) for source in first_of}
    last_days |= {*_only(coverage.active_sources, selected).values()}
    return {source: first for source, first in first_of.items() if source in names and len(last_days) > 1}


def _first_with_lines(
    coverage: Coverage, days: DateRange, selected: Collection[int] | None
) -> dict[int, date]:
    first_of, spans = _only(coverage.incomplete_from(days), selected), coverage.sources
    return {
        source: first for source, first in first_of.items() if spans[source].last_day >= first
    } or first_of


def incomplete_span(coverage: Coverage, days: DateRange, selected: Collection[int] | None = None) -> str:
    """Return the days from the first incomplete day with lines of its source to the last."""
    first_days, spans = _first_with_lines(coverage, days, selected), coverage.sources
    last = max((min(spans[source].last_day, days.end) for source in first_days), default=days.end)
    return day_span(min(first_days.values(), default=days.start), last)


def day_span(first: date, last: date) -> str:
    """Format a day, or the first and the last of several."""
    return f"{first}" if first >= last else f"{first} to {last}"


def _missing_clause(
    sources: Sequence[int], first_of: Mapping[int, date], names: Mapping[int, str], count: int
) -> str:
    """Return which of `count` sources have no complete day, or no line, and from when on."""
    if not sources:
        return ""
    firsts = {first_of[source] for source in sources}
    if len(firsts) == 1 and len(sources) == count:
        return f"; no day is complete from {next(iter(firsts))} on"
    named = [
        f"{truncate(names[source], SOURCE_NAME_LENGTH)!r} from {first_of[source]}"
        for source in sources
        if source in names
    ]
    return f"; no complete day of {join_first(named, NAMED_SOURCES)}" if named else ""

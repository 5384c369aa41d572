"""Forecasts of spend: the one function behind the page Forecast and the tool forecastSpend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from accounts.models import Account
from finops.budgets.cycles import period_of, shift_period
from finops.budgets.forecast_answers import AppliedForecastPeriod, ForecastAnswer, ForecastRow, ForecastTotal
from finops.budgets.forecast_query import MAX_DAYS_BY_DAY, MAX_TOP, ForecastQuery
from finops.budgets.projection import (
    HISTORY_DAYS,
    CostPart,
    complete_late_days,
    incomplete_cost,
    one_time_by_day,
    project_period,
    total_by_day,
)
from finops.budgets.queries.forecast_figures import Outlook, Span, row_of, total_of
from finops.budgets.queries.forecast_words import hint_of, summary_of, warnings_of
from finops.costs.answers import AccountRef
from finops.costs.coverage import Coverage
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import no_values_clause
from finops.costs.queries.closed_months import restatement_clause
from finops.costs.queries.filter_values import FilterFindings, look_up
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import plan_of, read_sums_of, resolve_query
from finops.costs.queries.spend_answer import left_out_parts, truncation_note
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_lake import ONE_TIME_FEES, SpendPlan, SpendSum
from finops.costs.queries.spend_words import (
    NAMED_SOURCES,
    SOURCE_NAME_LENGTH,
    incomplete_sources,
    incomplete_words,
    left_out_clause,
    stopped_words,
    uncovered_words,
)
from finops.costs.spend_query import SpendQuery
from finops.exchange_rates.missing_rates import missing_rate_clause, missing_rate_warnings, without_rate
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange, previous_period
from finops.lib.sentences import join_with_and, truncate

STALE_DAYS: Final = 45
LEVEL: Final = Decimal("0.8")
MODEL: Final = (
    "level, trend (of recent weeks where back-tests were clearly closer), weekdays and days of the "
    "month, from the last 365 days; credits and fees included"
)
_KINDS: Final = {"month": "monthly", "quarter": "quarterly", "year": "yearly"}


@dataclass(frozen=True)
class ForecastFigures:
    """The answer, and the data of the page's charts: the days of each currency's total."""

    answer: ForecastAnswer
    totals: Sequence[Outlook]
    span: Span


def forecast_spend(
    account: Account,
    query: ForecastQuery,
    *,
    deadline: float | None = None,
    sources: Sources | None = None,
) -> ForecastAnswer:
    """Return what a period will cost, in the account's cost view for planning unless the query overrides it: the
    actual cost, the expected cost of the other days, and a band that holds in about 80 % of cases.

    Each currency, each group and the total have their own models, so groups add up to the total only approximately.
    An amount without a forecast is None with its reason. Raises UserError for errors that the caller can correct.
    Cost: one lake query over the last year (for `year` up to two), as `query_spend` of them by day; then 6 ms for
    each series.
    """
    return forecast_figures(account, query, deadline=deadline, sources=sources).answer


def forecast_figures(
    account: Account,
    query: ForecastQuery,
    *,
    deadline: float | None = None,
    sources: Sources | None = None,
) -> ForecastFigures:
    """Return the answer of `forecast_spend` together with its days."""
    sources, today = (sources or load_sources(account)).for_planning, clock.today()
    span = _span(account, query, sources.coverage, today)
    facts, every = _read(account, query, span, sources, deadline)
    sums = [part for part in every if facts.plan.counts(part.charge_category)]
    whole = [_outlook(facts, span, sums, currency) for currency in sorted({part.currency for part in sums})]
    totals = [total_of(each, span, query.granularity) for each in whole]
    totals.sort(key=lambda total: (-abs(total.expected or total.actual), total.currency))
    groups = _groups(facts, span, sums) if query.group_by else []
    rows = _sort_rows([row_of(each, span, facts.plan.dimensions[0].name) for each in groups], totals)
    read = {each.currency: exact_sum(each.costs.values()) for each in whole}
    converted = [total for total in totals if total.currency not in without_rate(read)] or totals
    in_period = {total.currency: total.actual or read[total.currency] for total in totals}
    not_final = no_values_clause(facts.dimensions) + missing_rate_clause(in_period)
    not_final += _not_final(facts, span, whole, sums)
    not_final += restatement_clause(sources, [span.period, span.previous], facts.plan.basis)
    view = f"{facts.view.label}{_left_out(facts.plan, span, every)}"
    answer = ForecastAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=summary_of(account, span, facts, converted, view, not_final, whole),
        view=facts.view,
        period=AppliedForecastPeriod(
            start_date=span.period.start,
            end_date=span.period.end,
            days=span.period.days,
            name=query.period,
            as_of=today,
        ),
        group_by=[dimension.name for dimension in facts.plan.dimensions],
        band_share=LEVEL,
        model=MODEL,
        totals=totals,
        rows=rows,
        resolved_filters=facts.findings.used,
        data_through=span.coverage.complete_through,
        truncated=truncation_note(rows, query.limit, MAX_TOP),
        warnings=[*missing_rate_warnings(in_period), *warnings_of(facts, span, whole, totals, rows)],
        hint=hint_of(query, span, totals),
        applied_splits=facts.split_result.applied_splits,
    )
    order = {total.currency: place for place, total in enumerate(totals)}
    return ForecastFigures(answer, sorted(whole, key=lambda each: order[each.currency]), span)


def _left_out(plan: SpendPlan, span: Span, sums: Sequence[SpendSum]) -> str:
    """Return a clause on charge categories that are not counted: their cost so far, or else in the period before."""
    for days, when in ((span.so_far, " so far"), (span.previous, " in the period before")):
        parts = [each for each in sums if each.bucket and days.start <= each.bucket <= days.end]
        if clause := left_out_clause(left_out_parts(plan, parts), when):
            return clause
    return ""


def _not_final(facts: SpendFacts, span: Span, whole: Sequence[Outlook], sums: Sequence[SpendSum]) -> str:
    """Return a clause on cost so far that is not final, on late sources, whose expected cost counts, on sources that
    stopped, whose later days count as 0, and on filter values without cost."""
    amounts = {each.currency: each.incomplete for each in whole if each.incomplete}
    with_cost = {source for end in {each.end for each in sums} - {-1} for source in facts.plan.ends[end][1]}
    selected = with_cost if facts.plan.filters else None
    stopped = with_cost & {*span.coverage.stopped_sources(span.so_far)}
    text = incomplete_words(span.coverage, span.so_far, amounts, facts.names, selected, stopped)
    if span.coverage.days_with_data(span.so_far):
        text += uncovered_words(span.coverage, span.so_far)
    through, since = span.coverage.complete_through_for_most, span.coverage.complete_through
    late = [
        f"{truncate(facts.names[source], SOURCE_NAME_LENGTH)!r} after {end}"
        for source, end in span.coverage.active_sources.items()
        if through and since and since <= end < through and source in facts.names
    ]
    text += f"; {join_with_and(late[:NAMED_SOURCES])} treated as expected" if late else ""
    named = incomplete_sources(span.coverage, span.so_far, facts.names, selected) if amounts else []
    text += stopped_words(span.coverage, sorted(stopped - {*named}), facts.names)
    text += "; days without lines count as 0" if stopped & facts.names.keys() else ""
    return text + facts.findings.clause + facts.source_notes.clause


def _span(account: Account, query: ForecastQuery, coverage: Coverage, today: date) -> Span:
    if query.period == "next_days":
        period = DateRange(today, today + timedelta(days=query.days - 1))
        previous = previous_period(period)
    else:
        kind = _KINDS[query.period]
        period = period_of(kind, today, account.fiscal_start_month)
        previous = shift_period(kind, period, -1)
    if query.granularity == "day" and period.days > MAX_DAYS_BY_DAY:
        raise UserError(
            (f"granularity day is limited to shorter periods than {period.days} days. Use week or month."),
            field="granularity",
            value=query.granularity,
        )
    return Span(period, previous, today, coverage)


def _read(
    account: Account, query: ForecastQuery, span: Span, sources: Sources, deadline: float | None
) -> tuple[SpendFacts, list[SpendSum]]:
    """Return the sums by day from the first needed day to the period's end: a bill may have lines of future days."""
    spend_query = SpendQuery(
        start_date=span.today,
        end_date=span.today,
        granularity="day",
        group_by=query.group_by,
        filters=list(query.filters),
        basis=query.basis,
        charge_categories=query.charge_categories,
        splits=query.splits,
        limit=query.limit,
    )
    question = resolve_query(account, spend_query, sources)
    first = min(span.previous.start, span.today - timedelta(days=HISTORY_DAYS))
    plan = replace(
        plan_of(question),
        days=DateRange(first, span.period.end),
        incomplete=(),
        ends=sources.coverage.ends,
    )
    sums, split_result = read_sums_of(account, question, plan, deadline)
    facts = SpendFacts(
        account=account,
        query=spend_query,
        plan=plan,
        view=question.view,
        compared=None,
        sources=sources,
        findings=look_up(account, plan, deadline, sources.manifest) if plan.filters else FilterFindings(),
        split_result=split_result,
    )
    return facts, sums


def _groups(facts: SpendFacts, span: Span, sums: Sequence[SpendSum]) -> list[Outlook]:
    places: dict[tuple[str, int], list[SpendSum]] = {}
    for part in sums:
        places.setdefault((part.currency, min(part.place, facts.plan.limit)), []).append(part)
    counts = {
        currency: max(part.groups for part in sums if part.currency == currency) for currency, _ in places
    }
    return [
        _outlook(facts, span, parts, currency, groups=counts[currency])
        for (currency, _place), parts in places.items()
    ]


def _outlook(
    facts: SpendFacts, span: Span, sums: Sequence[SpendSum], currency: str, *, groups: int = 0
) -> Outlook:
    """Return the days of these sums in one currency, and their projection."""
    own_sums = [part for part in sums if part.currency == currency]
    parts = _parts(facts.plan, own_sums)
    costs = total_by_day(parts)
    through, since = span.coverage.complete_through_for_most, span.coverage.complete_through
    reason, projection, late = _stale(span), None, None
    if not reason and through is not None and since is not None:
        late = complete_late_days(parts, span.covered_days, through, since, span.period)
        projection, reason = project_period(
            costs,
            span.covered_days,
            span.period,
            as_of=span.today,
            through=through,
            late=late,
            one_time=one_time_by_day(parts),
            country=facts.account.holiday_country,
        )
    is_other = bool(groups) and own_sums[0].place >= facts.plan.limit
    return Outlook(
        key=None if is_other or not own_sums[0].keys else own_sums[0].keys[0],
        label=strip_date_prefix(max((part.labels[0] or "" for part in own_sums if part.labels), default="")),
        currency=currency,
        costs=costs,
        projection=projection,
        reason=reason,
        other_groups=groups - facts.plan.limit if is_other else 0,
        late=late,
        incomplete=incomplete_cost(parts, span.so_far),
    )


def _parts(plan: SpendPlan, sums: Sequence[SpendSum]) -> list[CostPart]:
    """Return the cost by day, in one part per last complete day of the sources."""
    by_end: dict[int, list[SpendSum]] = {}
    for each in sums:
        if each.bucket is not None:
            by_end.setdefault(each.end, []).append(each)
    return [
        CostPart(
            plan.ends[end][0] if end >= 0 else None,
            _by_day(bucket_sums),
            _by_day(each for each in bucket_sums if each.part == ONE_TIME_FEES),
        )
        for end, bucket_sums in sorted(by_end.items())
    ]


def _by_day(sums: Iterable[SpendSum]) -> dict[date, Decimal]:
    by_day: dict[date, list[Decimal]] = {}
    for each in sums:
        if each.bucket is not None:
            by_day.setdefault(each.bucket, []).append(each.amount)
    return {day: exact_sum(amounts) for day, amounts in sorted(by_day.items())}


def _stale(span: Span) -> str:
    through = span.coverage.complete_through_for_most
    if through is None:
        return "No day of cost data is complete yet."
    behind = (span.today - through).days
    if behind > STALE_DAYS:
        return f"The last complete day is {through}, {behind} days ago: too old to forecast from."
    return ""


def _sort_rows(rows: Sequence[ForecastRow], totals: Sequence[ForecastTotal]) -> list[ForecastRow]:
    """Sort by the totals' currencies, largest first, others last. Drop groups without actual or expected cost."""
    place = {total.currency: index for index, total in enumerate(totals)}
    with_cost = [row for row in rows if row.actual or row.expected or row.expected is None]
    return sorted(
        with_cost,
        key=lambda row: (
            place[row.currency],
            bool(row.other_groups),
            -(row.expected or row.actual),
            list(row.group.values()),
        ),
    )

"""The summary, the warnings and the hint of a forecast answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from accounts.models import Account
from finops.budgets.forecast_answers import ForecastRow, ForecastTotal
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.queries.forecast_figures import Outlook, Span
from finops.costs.dimensions import no_values_clause
from finops.costs.queries import spend_answer
from finops.costs.queries.spend_facts import SpendFacts
from finops.lake.engine.conversion import display_currency
from finops.lib.formats.numbers import is_level
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import LARGE_RATIO, join_with_and, money, percent_text, quote

TWO_MONTHS: Final = 62


def summary_of(
    account: Account,
    span: Span,
    facts: SpendFacts,
    totals: Sequence[ForecastTotal],
    view: str,
    not_final: str,
    whole: Sequence[Outlook],
) -> str:
    """Return the summary in one sentence: the expected cost, its band, the part already spent, the change, and what the
    forecast lacks."""
    when = f"from {span.period.start} to {span.period.end}"
    filtered = " within the filters" if facts.plan.filters else ""
    if not totals:
        reason = (
            "No cost line matches the filters" if facts.plan.filters else f"{quote(account.name)} has no cost"
        )
        return f"{reason}, so nothing can be forecast {when}{_missing(facts)}."
    forecast_totals = [total for total in totals if total.expected is not None]
    if not forecast_totals:
        return f"The spend of {quote(account.name)}{filtered} {when} cannot be forecast: {totals[0].reason.rstrip('.')}{_missing(facts)}."
    before = _period_before(span)
    totals_text = join_with_and([_total_text(total, before) for total in forecast_totals])
    unknown = "".join(_not_forecast(total) for total in totals if total.expected is None)
    return f"{quote(account.name)} is forecast to spend {totals_text}{filtered} {when} ({view}){not_final}{_short_clause(whole)}{unknown}."


def _missing(facts: SpendFacts) -> str:
    """Return a clause on dimensions and filter values that no line has, and on sources that deliver no new data."""
    return no_values_clause(facts.dimensions) + facts.findings.clause + facts.source_notes.clause


def _not_forecast(total: ForecastTotal) -> str:
    """Return a clause on the cost so far of a currency without a forecast."""
    reason = f" ({total.reason[0].lower()}{total.reason[1:].rstrip('.')})" if total.reason else ""
    return f"; not forecast: {money(total.actual, total.currency)} spent so far{reason}"


def _period_before(span: Span) -> str:
    """Return the earlier period in words, with its length if that is another one."""
    days = span.previous.days
    return "the period before" if days == span.period.days else f"the {days} days before"


def _total_text(total: ForecastTotal, before: str) -> str:
    if total.expected is None or total.lower is None or total.upper is None:
        return ""
    currency = total.currency
    parts = [f"80% range {money(total.lower, currency)} to {money(total.upper, currency)}"]
    if total.actual:
        parts.append(f"{money(total.actual, currency)} of it spent")
    change = total.change
    if change and change.ratio is not None and change.change:
        word = "more" if change.change > 0 else "less"
        previous = change.previous_amount
        if previous is not None and change.ratio.copy_abs() >= LARGE_RATIO:
            parts.append(f"{money(previous, currency)} in {before}")
        else:
            parts.append(f"{percent_text(abs(change.ratio))} {word} than {before}")
    return f"{money(total.expected, currency)} ({', '.join(parts)})"


def warnings_of(
    facts: SpendFacts,
    span: Span,
    whole: Sequence[Outlook],
    totals: Sequence[ForecastTotal],
    rows: Sequence[ForecastRow],
) -> list[str]:
    # For a period that starts after the data, count from the data's last day.
    last, days = span.coverage.last_day, span.so_far
    to_date = DateRange(min(days.start, last), days.end) if last is not None else days
    facts_to_date = replace(facts, plan=replace(facts.plan, days=to_date))
    sentences = spend_answer.warnings_of(facts_to_date, [], [])
    if len(totals) > 1 and not display_currency():
        names = ", ".join(total.currency for total in totals)
        sentences.append(
            f"Cost is in {len(totals)} currencies ({names}), which are not added: one forecast per currency."
        )
    sentences += [f"{total.currency}: {total.reason}" for total in totals if total.reason]
    sentences += _short_history(whole)
    sentences += [sentence for total in totals for sentence in _parts(total, rows)]
    return list(dict.fromkeys(sentences))


def _short_days(whole: Sequence[Outlook]) -> list[tuple[str, int]]:
    """Return the days of history of currencies with less than two months, by currency."""
    return [
        (each.currency, each.projection.forecast.history.days)
        for each in whole
        if each.projection and each.projection.forecast.history.days < TWO_MONTHS
    ]


def _short_clause(whole: Sequence[Outlook]) -> str:
    """Return a clause on few days of history, which make monthly charges uncertain."""
    short = _short_days(whole)
    if len({days for _, days in short}) == 1 and len(short) == len(whole):
        return f"; from only {short[0][1]} days of history"
    texts = [f"{days} in {currency}" for currency, days in short]
    return f"; from few days of history: {join_with_and(texts)}" if texts else ""


def _short_history(whole: Sequence[Outlook]) -> list[str]:
    return [
        f"{currency}: only {days} days of history, so monthly charges are uncertain. The true range "
        "is wider than the 80% range."
        for currency, days in _short_days(whole)
    ]


def _parts(total: ForecastTotal, rows: Sequence[ForecastRow]) -> list[str]:
    """Return a sentence on how the groups' own forecasts relate to the forecast of the total."""
    amounts = [row.expected for row in rows if row.currency == total.currency and row.expected is not None]
    if not amounts or total.expected is None:
        return []
    group_sum = exact_sum(amounts)
    apart = ratio(exact_difference(group_sum, total.expected).copy_abs(), total.expected.copy_abs())
    if apart is None or is_level(apart):
        return []
    sum_text = money(group_sum, total.currency)
    return [
        (
            f"The total and each group are forecast separately: the groups add up to {sum_text}, "
            f"{percent_text(apart)} off the total."
        )
    ]


def hint_of(query: ForecastQuery, span: Span, totals: Sequence[ForecastTotal]) -> str:
    """Return a hint for the next question."""
    if span.coverage.first_day is None:
        return "Connect a cost source on the Connections page."
    if not totals and query.filters:
        return "Check the values with listDimensionValues, or remove filters to forecast the whole account."
    if not query.group_by:
        return "Add group_by, such as service or team, for the forecast of each part."
    return "Use listBudgets to compare forecasts with budgets, querySpend for actual spend."

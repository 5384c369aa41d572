"""The summary, the warnings and the hint of a forecast answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from accounts.models import Account
from finops.budgets.forecast_answers import ForecastRow, ForecastTotal
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.queries.forecast_figures import Outlook, Span
from finops.costs.queries import spend_answer
from finops.costs.queries.spend_facts import SpendFacts
from finops.lake.engine.conversion import display_currency
from finops.lib.formats.numbers import is_level
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, money, percent_text, quote

TWO_MONTHS: Final = 62


def summary_of(
    account: Account,
    span: Span,
    facts: SpendFacts,
    totals: Sequence[ForecastTotal],
    view: str,
    not_final: str,
) -> str:
    """Return the summary in one sentence: the expected cost, its band, the part already spent, and the change."""
    when = f"from {span.period.start} to {span.period.end}"
    filtered = " within the filters" if facts.plan.filters else ""
    if not totals:
        reason = (
            "No cost line matches the filters" if facts.plan.filters else f"{quote(account.name)} has no cost"
        )
        return f"{reason}, so nothing can be forecast {when}{facts.source_notes.clause}."
    forecast_totals = [total for total in totals if total.expected is not None]
    if not forecast_totals:
        return f"The spend of {quote(account.name)}{filtered} {when} cannot be forecast: {totals[0].reason.rstrip('.')}{facts.source_notes.clause}."
    totals_text = join_with_and([_total_text(total) for total in forecast_totals])
    return f"{quote(account.name)} is forecast to spend {totals_text}{filtered} {when} ({view}){not_final}."


def _total_text(total: ForecastTotal) -> str:
    if total.expected is None or total.lower is None or total.upper is None:
        return ""
    currency = total.currency
    parts = [f"80% range {money(total.lower, currency)} to {money(total.upper, currency)}"]
    if total.actual:
        parts.append(f"{money(total.actual, currency)} of it spent")
    change = total.change
    if change and change.ratio is not None and change.change:
        word = "more" if change.change > 0 else "less"
        parts.append(f"{percent_text(abs(change.ratio))} {word} than the period before")
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


def _short_history(whole: Sequence[Outlook]) -> list[str]:
    short = [
        (each.currency, each.projection.forecast.history.days)
        for each in whole
        if each.projection and each.projection.forecast.history.days < TWO_MONTHS
    ]
    return [
        f"{currency}: only {days} days of history, so monthly charges are uncertain. The true range "
        "is wider than the 80% range."
        for currency, days in short
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

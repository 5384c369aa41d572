"""The answer about many budgets, for assistants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from accounts.models import Account
from finops.budgets.models import Budget
from finops.budgets.queries.statuses import budget_statuses
from finops.budgets.schemas import (
    OUTSIDE_VIEW,
    BudgetAnswer,
    BudgetRow,
    BudgetsAnswer,
    BudgetsQuery,
    BudgetStatus,
)
from finops.budgets.status_rules import EXCEEDED, OK, WARNING
from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import AccountRef, MoneyAmount
from finops.costs.queries.cost_view import apply_overrides
from finops.costs.queries.source_notes import SourceNotes, source_notes
from finops.costs.queries.sources import Sources, load_sources
from finops.lake.engine.conversion import display_currency
from finops.lib import clock
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.money import ratio
from finops.lib.periods import DateRange, month_start
from finops.lib.sentences import join_first, join_with_and, money, quote, truncate

MAX_NAME = 60
NAMED = 3
_WORST_FIRST = {EXCEEDED: 0, WARNING: 1, OK: 2}


def list_budgets(account: Account, query: BudgetsQuery, *, deadline: float | None = None) -> BudgetsAnswer:
    """Return a page of the query's budgets, most urgent first. Cost as `budget_statuses`, whatever the page."""
    question = (sorted(query.statuses), sorted(query.scopes), clock.today())
    offset = offset_of(query.cursor, *question)
    sources = load_sources(account).for_planning
    every = budget_statuses(account, sources=sources, deadline=deadline)
    matches = sorted(
        (
            each
            for each in every
            if (not query.statuses or each.status in query.statuses)
            and (not query.scopes or each.scope in query.scopes)
        ),
        key=lambda each: (_WORST_FIRST[each.status], each.name.casefold()),
    )
    page = matches[offset : offset + query.limit]
    following = offset + len(page)
    remaining = len(matches) - following
    notes = source_notes(account, sources) if every else SourceNotes()
    return BudgetsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, every, matches, notes.clause),
        view=apply_overrides(sources.view, basis=None, charge_categories=()),
        data_through=sources.coverage.complete_through,
        budgets=[_row(each) for each in page],
        cursor=next_cursor(following, *question) if remaining > 0 else "",
        truncated=f"{remaining} more budgets. Use cursor for the next page, or filter by statuses."
        if remaining > 0
        else "",
        warnings=[*notes.warnings, *_warnings(account, sources, every)],
        hint=_hint(every, matches, sources.view.basis),
    )


def new_budget_answer(account: Account, budget: Budget, *, deadline: float | None = None) -> BudgetAnswer:
    """Return the answer for a new budget, in the form of the list. One lake query."""
    sources = load_sources(account).for_planning
    (status,) = budget_statuses(account, [budget], sources=sources, deadline=deadline)
    return BudgetAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=(
            f"Created budget {truncate(status.name, MAX_NAME)!r} with id {status.id}: {_created_words(budget, status)}. "
            f"{status.status_reason}"
        ),
        budget=_row(status),
        view=apply_overrides(sources.view, basis=None, charge_categories=()),
        data_through=status.data_through,
        warnings=[
            *source_notes(account, sources).warnings,
            *status.warnings,
            *_warnings(account, sources, [status]),
        ],
        hint="Use create_alert_subscription to send alerts on it, listBudgets for its status.",
    )


def _spend_question(status: BudgetStatus, basis: str) -> str:
    """Return the querySpend arguments for the cost of a budget by service."""
    key, _, value = status.scope_name.partition(": ")
    filters = {
        "cost_source": [{"dimension": "source", "values": [status.scope_name]}],
        "team": [{"dimension": "team", "values": [status.scope_name]}],
        "cost_tag": [{"dimension": f"cost_tag:{key}", "values": [value]}],
    }.get(status.scope)
    arguments = {
        "start_date": status.start_date,
        "end_date": status.end_date,
        **({"filters": filters} if filters else {}),
        "group_by": ["service"],
        "basis": basis,
    }
    return msgspec.json.encode(arguments).decode()


def _row(status: BudgetStatus) -> BudgetRow:
    row = msgspec.convert(status, BudgetRow, from_attributes=True)
    scope_name = "" if status.scope == "account" else truncate(status.scope_name, MAX_NAME)
    return msgspec.structs.replace(row, name=truncate(status.name, MAX_NAME), scope_name=scope_name)


def _summary(
    account: Account, every: Sequence[BudgetStatus], matches: Sequence[BudgetStatus], problems: str
) -> str:
    if not every:
        return f"{quote(account.name)} has no budgets."
    counts = Counter(each.status for each in every)
    parts = [f"{counts[status]} {status}" for status in (EXCEEDED, WARNING, OK) if counts[status]]
    noun = "budget" if len(every) == 1 else "budgets"
    filter_text = "" if len(matches) == len(every) else f"; {len(matches)} requested"
    return f"{quote(account.name)} has {len(every)} {noun}: {join_with_and(parts)}{filter_text}{_unknown(matches)}{_not_final(matches)}{_left_out(matches)}{problems}."


def _unknown(matches: Sequence[BudgetStatus]) -> str:
    """Return a clause on budgets whose status rests on no cost, or on no forecast: "ok" alone would mislead."""
    without_spend = [each for each in matches if each.spent is None]
    without_forecast = [
        each
        for each in matches
        if each.spent is not None and each.forecast is None and each.status != EXCEEDED
    ]
    return "".join(
        f"; {text}: {join_first([quote(each.name, MAX_NAME) for each in budgets], NAMED)}"
        for text, budgets in (
            ("spend unknown", without_spend),
            ("without a forecast", without_forecast),
        )
        if budgets
    )


def _created_words(budget: Budget, status: BudgetStatus) -> str:
    """Return amount, currency, scope and current period of a new budget, and the cost that it does not count."""
    per = {"monthly": "month", "quarterly": "quarter", "yearly": "year"}[status.period]
    scope = "the account" if status.scope == "account" else quote(status.scope_name, MAX_NAME)
    own_amounts = budget.amounts.count()
    amounts_clause = (
        f", other amounts in {own_amounts} periods," if own_amounts > 1 else ", another amount in 1 period,"
    )
    not_counted = [
        f"{_amounts_text(amounts)} {which}"
        for amounts, which in (
            (status.other_currencies, "in other currencies"),
            (status.left_out, OUTSIDE_VIEW),
        )
        if amounts
    ]
    return (
        f"{money(budget.amount, budget.currency)} per {per}{amounts_clause if own_amounts else ''} for {scope}, now from {status.start_date} to "
        f"{status.end_date}{f'; not counted: {join_with_and(not_counted)}' if not_counted else ''}"
    )


def _amounts_text(amounts: Sequence[MoneyAmount]) -> str:
    return join_with_and([money(each.amount, each.currency) for each in amounts])


def _left_out(matches: Sequence[BudgetStatus]) -> str:
    """Return a clause on cost that budgets do not count, in other currencies and of charge categories outside the cost
    view, and on amounts that are not in the display currency."""
    why = "without an exchange rate" if display_currency() else "in other currencies"
    clause = _uncounted_clause(why, [(each.name, each.other_currencies) for each in matches])
    clause += _uncounted_clause(OUTSIDE_VIEW, [(each.name, each.left_out) for each in matches])
    own = sorted({each.currency for each in matches} - {display_currency()})
    if display_currency() and own:
        clause += f"; amounts stay in the currency of each budget, {join_with_and(own)}"
    return clause


def _uncounted_clause(why: str, amounts: Sequence[tuple[str, Sequence[MoneyAmount]]]) -> str:
    """Return a clause with the amounts of each budget, by its name."""
    parts = [f"{_amounts_text(each)} of {truncate(name, MAX_NAME)!r}" for name, each in amounts if each]
    more = f" and of {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return f"; not counted, {why}: {', '.join(parts[:NAMED])}{more}" if parts else ""


def _not_final(matches: Sequence[BudgetStatus]) -> str:
    """Return a clause on budgets whose spend is partly not final, the one with the largest such share first."""
    late = sorted(
        (each for each in matches if each.not_final),
        key=lambda each: -(ratio(each.not_final, each.amount) or Decimal(0)),
    )
    named = [
        f"{money(each.not_final, each.currency)} of {truncate(each.name, MAX_NAME)!r}"
        for each in late[:NAMED]
    ]
    more = f" and of {len(late) - NAMED} more" if len(late) > NAMED else ""
    return f"; on incomplete days: {', '.join(named)}{more}" if late else ""


def _warnings(account: Account, sources: Sources, every: Sequence[BudgetStatus]) -> list[str]:
    if not every:
        return []
    today = clock.today()
    first = min((each.start_date for each in every), default=month_start(today))
    return warnings_for(AnswerFacts(account, DateRange(first, today), sources))


def _hint(every: Sequence[BudgetStatus], matches: Sequence[BudgetStatus], basis: str) -> str:
    if not every:
        return "Create one with create_budget or on the Budgets page."
    worst = next((each for each in matches if each.status != OK), None)
    if worst is not None:
        return (
            f"Cost drivers of {truncate(worst.name, MAX_NAME)!r}: querySpend {_spend_question(worst, basis)}"
        )
    return "Use forecastSpend for other scopes, querySpend for the cost of a budget."

"""The answer about many budgets, for assistants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from accounts.models import Account
from finops.budgets.answers import BudgetAnswer, BudgetRow, BudgetsAnswer, BudgetStatus
from finops.budgets.budgets_query import BudgetsQuery
from finops.budgets.judging import EXCEEDED, OK, WARNING
from finops.budgets.models import Budget
from finops.budgets.queries.statuses import budget_statuses
from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import AccountRef
from finops.costs.queries.cost_view import view_used
from finops.costs.queries.sources import Sources, load_sources
from finops.lib import clock
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.money import ratio
from finops.lib.periods import DateRange, month_start
from finops.lib.spoken import cut, listed, money, quoted

MAX_NAME = 60
NAMED = 3
_WORST_FIRST = {EXCEEDED: 0, WARNING: 1, OK: 2}


def list_budgets(account: Account, query: BudgetsQuery, *, deadline: float | None = None) -> BudgetsAnswer:
    """The budgets that a query asks for, the worst first, page by page. Cost as `budget_statuses`, whatever the page."""
    question = (sorted(query.status), sorted(query.scope), clock.today())
    offset = offset_of(query.cursor, *question)
    sources = load_sources(account).for_planning
    every = budget_statuses(account, sources=sources, deadline=deadline)
    found = sorted(
        (each for each in every if _is_asked(each, query)),
        key=lambda each: (_WORST_FIRST[each.status], each.name.casefold()),
    )
    page = found[offset : offset + query.limit]
    following = offset + len(page)
    rest = len(found) - following
    return BudgetsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, every, found),
        view=view_used(sources.view, basis=None, charge_categories=()),
        data_through=sources.coverage.complete_through,
        budgets=[_row(each) for each in page],
        cursor=next_cursor(following, *question) if rest > 0 else "",
        truncated=f"{rest} more budgets: ask again with cursor, or filter by status." if rest > 0 else "",
        warnings=_warnings(account, sources, every),
        hint=_hint(every, found, sources.view.basis),
    )


def new_budget_answer(account: Account, budget: Budget, *, deadline: float | None = None) -> BudgetAnswer:
    """A budget that was just made, as the list shows it. One lake query."""
    sources = load_sources(account).for_planning
    (status,) = budget_statuses(account, [budget], sources=sources, deadline=deadline)
    return BudgetAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"Budget {cut(status.name, MAX_NAME)!r} is made, with id {status.id}. {status.status_reason}",
        budget=_row(status),
        view=view_used(sources.view, basis=None, charge_categories=()),
        data_through=status.data_through,
        warnings=[
            *status.warnings,
            *_warnings(account, sources, [status]),
        ],
        hint="create_alert_subscription tells a channel when it is nearly spent; listBudgets says where it stands.",
    )


def _question(status: BudgetStatus, basis: str) -> str:
    """The cost of a budget by service, as querySpend takes it."""
    key, _, value = status.scope_name.partition(": ")
    filters = {
        "cost_source": [{"dimension": "source", "values": [status.scope_name]}],
        "team": [{"dimension": "team", "values": [status.scope_name]}],
        "cost_tag": [{"dimension": f"cost_tag:{key}", "values": [value]}],
    }.get(status.scope)
    asked = {
        "start_date": status.start_date,
        "end_date": status.end_date,
        **({"filters": filters} if filters else {}),
        "group_by": ["service"],
        "basis": basis,
    }
    return msgspec.json.encode(asked).decode()


def _is_asked(status: BudgetStatus, query: BudgetsQuery) -> bool:
    return (not query.status or status.status in query.status) and (
        not query.scope or status.scope in query.scope
    )


def _row(status: BudgetStatus) -> BudgetRow:
    return BudgetRow(
        id=status.id,
        name=cut(status.name, MAX_NAME),
        scope=status.scope,
        scope_name="" if status.scope == "account" else cut(status.scope_name, MAX_NAME),
        period=status.period,
        start_date=status.start_date,
        end_date=status.end_date,
        amount=status.amount,
        currency=status.currency,
        spent=status.spent,
        spent_percent=status.spent_percent,
        forecast=status.forecast,
        forecast_low=status.forecast_low,
        forecast_high=status.forecast_high,
        forecast_reason=status.forecast_reason,
        status=status.status,
        status_reason=status.status_reason,
        crosses_on=status.crosses_on,
        other_currencies=status.other_currencies,
        warnings=status.warnings,
    )


def _summary(account: Account, every: Sequence[BudgetStatus], found: Sequence[BudgetStatus]) -> str:
    if not every:
        return f"{quoted(account.name)} has no budget."
    counts = Counter(each.status for each in every)
    parts = [f"{counts[status]} {status}" for status in (EXCEEDED, WARNING, OK) if counts[status]]
    noun = "budget" if len(every) == 1 else "budgets"
    asked = "" if len(found) == len(every) else f"; {len(found)} asked for"
    return f"{quoted(account.name)} has {len(every)} {noun}: {listed(parts)}{asked}{_not_final(found)}."


def _not_final(found: Sequence[BudgetStatus]) -> str:
    """A clause on budgets of which a part of what is spent is not final, the one with the largest such share first."""
    late = sorted(
        (each for each in found if each.not_final),
        key=lambda each: -(ratio(each.not_final, each.amount) or Decimal(0)),
    )
    named = [
        f"{money(each.not_final, each.currency)} of {cut(each.name, MAX_NAME)!r}" for each in late[:NAMED]
    ]
    more = f" and of {len(late) - NAMED} more" if len(late) > NAMED else ""
    return f"; not final, on days that are not complete: {', '.join(named)}{more}" if late else ""


def _warnings(account: Account, sources: Sources, every: Sequence[BudgetStatus]) -> list[str]:
    if not every:
        return []
    today = clock.today()
    first = min((each.start_date for each in every), default=month_start(today))
    return warnings_for(AnswerFacts(account, DateRange(first, today), sources.coverage, sources.health))


def _hint(every: Sequence[BudgetStatus], found: Sequence[BudgetStatus], basis: str) -> str:
    if not every:
        return "A person makes budgets on the Budgets page, or create_budget does."
    worst = next((each for each in found if each.status != OK), None)
    if worst is not None:
        return f"What drives {cut(worst.name, MAX_NAME)!r}: querySpend {_question(worst, basis)}"
    return "forecastSpend foretells any other scope; querySpend says what a budget's cost is made of."

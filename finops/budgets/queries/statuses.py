"""Where budgets stand: spent, forecast, status and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Final

from accounts.models import Account
from finops.budgets.answers import BudgetStatus, PastPeriod
from finops.budgets.cycles import period_of, shifted
from finops.budgets.judging import Standing, reason_of, status_of
from finops.budgets.lateness import Part, filled, incomplete_in, one_time_in
from finops.budgets.models import Budget
from finops.budgets.projection import Projection, projected
from finops.budgets.queries.spent import ScopeCosts, Wanted, daily_costs, spent_in
from finops.budgets.scopes import scope_name
from finops.costs.answers import MoneyAmount
from finops.costs.coverage import Coverage
from finops.costs.queries.incomplete_words import when_incomplete
from finops.costs.queries.sources import Sources, load_sources
from finops.lib import clock
from finops.lib.money import added, ratio
from finops.lib.periods import DateRange
from finops.lib.spoken import money

HISTORY_DAYS: Final = 365
"""Days before today that a forecast looks at: the weekly pattern, month ends, and a year's worth of them."""

PAST_PERIODS: Final = {"monthly": 12, "quarterly": 4, "yearly": 1}
"""Periods before the current one that are reported: all of them within the days that forecasts read or the year before."""


@dataclass(frozen=True)
class BudgetFigures:
    """A budget's status, and what its page draws: the cost of each day of the period, and what is expected."""

    budget: Budget
    status: BudgetStatus
    costs: Mapping[date, Decimal]
    projection: Projection | None


def budgets_of(account: Account) -> list[Budget]:
    """The account's budgets by name, with what their scopes are of and their amounts. Two queries."""
    rows = Budget.objects.filter(account=account).select_related("cost_source", "team", "cost_tag")
    return list(rows.prefetch_related("amounts"))


def budget_statuses(
    account: Account,
    budgets: Sequence[Budget] | None = None,
    *,
    day: date | None = None,
    deadline: float | None = None,
    sources: Sources | None = None,
) -> list[BudgetStatus]:
    """Where budgets stand in the period that `day` (today) is in, in their order; all of the account without `budgets`.

    Amounts are exact, in the account's cost view for planning, before splits. `day` in the past knows no later line. Raises
    UserError of the lake. Cost: one lake query for budgets of the account and its sources, one for those of teams, one
    for each cost tag, over the last 365 days and the current periods; PostgreSQL: two for budgets, one for sources.
    """
    rows = budgets_of(account) if budgets is None else budgets
    return [
        each.status for each in budget_figures(account, rows, day=day, deadline=deadline, sources=sources)
    ]


def budget_figures(
    account: Account,
    budgets: Sequence[Budget],
    *,
    day: date | None = None,
    deadline: float | None = None,
    sources: Sources | None = None,
    with_past: bool = False,
) -> list[BudgetFigures]:
    """As `budget_statuses`, with the days. `with_past` reads as far back as PAST_PERIODS says; without it, earlier
    periods are those that were read anyway."""
    if not budgets:
        return []
    sources = (sources or load_sources(account)).for_planning
    asked = _Asked(account, day or clock.today(), sources, with_past=with_past)
    costs = daily_costs(account, [asked.wanted(budget) for budget in budgets], sources, deadline=deadline)
    return [_figures(asked, budget, costs[budget.pk]) for budget in budgets]


class _Asked:
    """The moment that is asked about, and which days have data for whom."""

    def __init__(self, account: Account, day: date, sources: Sources, *, with_past: bool) -> None:
        self.account, self.day, self.with_past = account, day, with_past
        coverage = sources.coverage
        self._sources = sources

        @cache
        def known(source_id: int | None) -> _Known:
            mine = coverage.sources if source_id is None else [source_id]
            return _Known(coverage.of_sources(mine, today=day), day)

        self.known: Callable[[int | None], _Known] = known

    def parts(self, found: ScopeCosts, known: _Known, currency: str) -> list[Part]:
        """A scope's cost by day, apart for sources that are complete to another day."""
        return [
            Part(
                self._end(end, known),
                costs.get(currency, {}),
                found.one_time.get(end, {}).get(currency, {}),
            )
            for end, costs in sorted(found.ends.items())
        ]

    def _end(self, place: int, known: _Known) -> date | None:
        """The last complete day of the sources at this place, as of the day that is asked about."""
        if place < 0:
            return None
        sources = self._sources.coverage.ends[place][1]
        return next(
            (known.coverage.throughs[each] for each in sources if each in known.coverage.throughs), None
        )

    def period(self, budget: Budget) -> DateRange:
        return period_of(budget.period, self.day, self.account.fiscal_start_month)

    def wanted(self, budget: Budget) -> Wanted:
        period = self.period(budget)
        first = min(period.start, self.day - timedelta(days=HISTORY_DAYS))
        if self.with_past:
            first = min(first, shifted(budget.period, period, -PAST_PERIODS[budget.period]).start)
        # Lines of days to come, such as a fee on the month's last day, are known; on a day of the past they were not.
        last = period.end if self.day >= clock.today() else self.day
        return Wanted(budget, DateRange(first, last))


class _Known:
    """Which days have data, of the account or of one source."""

    def __init__(self, coverage: Coverage, day: date) -> None:
        self.coverage = coverage
        self.through = coverage.most_through
        self.since = coverage.complete_through
        self.days = self._days(day)

    def _days(self, day: date) -> list[date]:
        """The covered days of the last year that are complete, in order."""
        if self.through is None:
            return []
        first = day - timedelta(days=HISTORY_DAYS)
        found: set[int] = set()
        for span in self.coverage.covered:
            start, end = max(span.start, first), min(span.end, self.through)
            found.update(range(start.toordinal(), end.toordinal() + 1))
        return [date.fromordinal(each) for each in sorted(found)]


def _figures(asked: _Asked, budget: Budget, found: ScopeCosts) -> BudgetFigures:
    known = asked.known(budget.cost_source_id)
    period, costs = asked.period(budget), found.costs.get(budget.currency, {})
    so_far = DateRange(period.start, asked.day)
    spent, spent_reason = _spent(found, known, costs, so_far)
    inside = {day: amount for day, amount in sorted(costs.items()) if period.start <= day <= period.end}
    parts = asked.parts(found, known, budget.currency)
    late = (
        filled(parts, known.days, known.through, known.since, period)
        if known.through and known.since
        else None
    )
    projection, why_not = projected(
        costs,
        known.days,
        period,
        as_of=asked.day,
        through=known.through,
        late=late,
        one_time=one_time_in(parts),
        country=asked.account.holiday_country,
    )
    if found.problem:
        why_not = found.problem
    amount = amount_of(budget, period)
    total = projection.total if projection else None
    standing = Standing(
        amount=amount,
        currency=budget.currency,
        warning_percent=budget.warning_percent,
        spent=spent,
        forecast=total.mean if total else None,
        ends_on=period.end,
    )
    crosses_on = _crossing(amount, inside, projection, asked.day)
    status = BudgetStatus(
        id=budget.pk,
        name=budget.name,
        scope=budget.scope,
        scope_name=scope_name(budget),
        period=budget.period,
        start_date=period.start,
        end_date=period.end,
        days_left=(period.end - asked.day).days,
        amount=amount,
        currency=budget.currency,
        warning_percent=budget.warning_percent,
        spent=spent,
        spent_percent=_percent(spent, amount),
        spent_reason=spent_reason,
        forecast=total.mean if total else None,
        forecast_low=total.lower if total else None,
        forecast_high=total.upper if total else None,
        forecast_percent=_percent(total.mean if total else None, amount),
        forecast_reason=why_not,
        status=status_of(standing),
        status_reason=reason_of(standing, crosses_on=crosses_on)
        + _not_final(parts, so_far, known, budget.currency),
        crosses_on=crosses_on,
        data_through=known.since,
        other_currencies=_others(found, budget.currency, so_far),
        past=_past(asked, budget, known.coverage, costs),
        warnings=_warnings(found, budget, known),
        not_final=incomplete_in(parts, so_far),
    )
    return BudgetFigures(budget, status, inside, projection)


def _not_final(parts: Sequence[Part], days: DateRange, known: _Known, currency: str) -> str:
    """A sentence on what of the spent amount is of days that are not complete; empty where it is nothing."""
    amount = incomplete_in(parts, days)
    if not amount:
        return ""
    when = when_incomplete(known.coverage, days)
    return f" Of what is spent {money(amount, currency)} on {when} is not final."


def amount_of(budget: Budget, period: DateRange) -> Decimal:
    """The budget's amount for one of its periods. Its amounts must be loaded; one that is not saved has its own only."""
    if budget._state.adding:
        return budget.amount
    own = (each.amount for each in budget.amounts.all() if each.starts_on == period.start)
    return next(own, budget.amount)


def _percent(part: Decimal | None, amount: Decimal) -> Decimal | None:
    share = ratio(part, amount) if part is not None else None
    return None if share is None else share.scaleb(2)


def _spent(
    found: ScopeCosts, known: _Known, costs: Mapping[date, Decimal], days: DateRange
) -> tuple[Decimal | None, str]:
    """Spent so far, or why that is not known: 0 is said only of days that have data."""
    if found.problem:
        return None, found.problem
    if known.coverage.first_day is None:
        return None, "There is no cost data yet."
    has_lines = any(days.start <= day <= days.end for day in costs)
    if not has_lines and not known.coverage.has_data(days.start, days.end):
        return (
            None,
            f"There is no cost data of {days.start} to {days.end} yet; it ends on {known.coverage.last_day}.",
        )
    return spent_in(costs, days), ""


def _others(found: ScopeCosts, currency: str, days: DateRange) -> list[MoneyAmount]:
    sums = {name: spent_in(costs, days) for name, costs in sorted(found.costs.items()) if name != currency}
    return [MoneyAmount(amount=amount, currency=name) for name, amount in sums.items() if amount]


def _crossing(
    amount: Decimal, costs: Mapping[date, Decimal], projection: Projection | None, day: date
) -> date | None:
    """The day on which the cost of the period reached the amount; else the day on which the forecast does."""
    total = Decimal(0)
    for each, cost in costs.items():
        if each > day:
            break
        total = added([total, cost])
        if total >= amount:
            return each
    return projection.reaches(amount) if projection else None


def _past(
    asked: _Asked, budget: Budget, coverage: Coverage, costs: Mapping[date, Decimal]
) -> list[PastPeriod]:
    """Earlier periods, the newest first, as far as their days were read and there is data."""
    first = asked.wanted(budget).days.start
    found, period = [], asked.period(budget)
    for _ in range(PAST_PERIODS[budget.period]):
        period = shifted(budget.period, period, -1)
        if period.start < first or coverage.first_day is None or period.end < coverage.first_day:
            break
        found.append(_past_period(budget, period, coverage, costs))
    return found


def _past_period(
    budget: Budget, period: DateRange, coverage: Coverage, costs: Mapping[date, Decimal]
) -> PastPeriod:
    amount, spent = amount_of(budget, period), spent_in(costs, period)
    missing = period.days - coverage.days_with_data(period)
    known = missing < period.days
    return PastPeriod(
        start_date=period.start,
        end_date=period.end,
        amount=amount,
        currency=budget.currency,
        spent=spent if known else None,
        spent_percent=_percent(spent, amount) if known else None,
        exceeded=known and spent >= amount,
        reason=f"{missing} of {period.days} days have no data." if missing else "",
    )


def _warnings(found: ScopeCosts, budget: Budget, known: _Known) -> list[str]:
    if found.problem or budget.currency in found.costs or known.coverage.first_day is None:
        return []
    others = sorted(found.costs)
    name = scope_name(budget)
    if others:
        return [
            f"{name} has no cost in {budget.currency}, only in {', '.join(others)}, which does not count."
        ]
    return [f"{name} has had no cost in the days that were looked at."]

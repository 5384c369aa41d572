"""The statuses of budgets: spent, forecast, status and reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Final

from accounts.models import Account
from finops.budgets.cycles import period_of, shift_period
from finops.budgets.models import Budget
from finops.budgets.projection import (
    HISTORY_DAYS,
    CostPart,
    Projection,
    complete_days,
    complete_late_days,
    incomplete_cost,
    one_time_by_day,
    project_period,
)
from finops.budgets.queries.actual_costs import (
    ByCurrency,
    CostRequest,
    ScopeCosts,
    daily_costs,
    sum_of_days,
)
from finops.budgets.schemas import OUTSIDE_VIEW, BudgetStatus, PastPeriod
from finops.budgets.scopes import scope_name, visible_budgets
from finops.budgets.status_rules import StatusInputs, reason_of, status_of
from finops.costs.answers import MoneyAmount
from finops.costs.coverage import Coverage
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import incomplete_place
from finops.exchange_rates.missing_rates import missing_rate_warnings
from finops.lake.engine.conversion import display_currency
from finops.lib import clock
from finops.lib.money import exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, money

PAST_PERIODS: Final = {"monthly": 12, "quarterly": 4, "yearly": 1}
"""Earlier periods that are reported: as many as fit the days that forecasts read, or the year before."""


@dataclass(frozen=True)
class BudgetFigures:
    """A budget's status and the data of its page: the cost of each day of the period, and the expected cost."""

    budget: Budget
    status: BudgetStatus
    costs: Mapping[date, Decimal]
    projection: Projection | None


def budgets_of(account: Account) -> list[Budget]:
    """Return the budgets that the reader can see, by name, with their scopes' rows and amounts. Two queries."""
    rows = Budget.objects.filter(account=account).select_related("cost_source", "team", "cost_tag")
    return visible_budgets(rows.prefetch_related("amounts"))


def budget_statuses(
    account: Account,
    budgets: Sequence[Budget] | None = None,
    *,
    day: date | None = None,
    deadline: float | None = None,
    sources: Sources | None = None,
) -> list[BudgetStatus]:
    """Return the statuses of budgets in the period that includes `day` (today), in their order; all of the account
    without `budgets`.

    Amounts are exact, in the account's cost view for planning, before splits. A `day` in the past ignores later
    lines. Raises UserError of the lake. Cost: one lake query for budgets of the account and its sources, one for
    those of teams, one for each cost tag, over the last 365 days and the current periods; PostgreSQL: two for
    budgets, one for sources.
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
    """Return the answer of `budget_statuses` with the days. `with_past` reads as many periods as PAST_PERIODS;
    without it, earlier periods are only those already read."""
    if not budgets:
        return []
    sources = (sources or load_sources(account)).for_planning
    context = _StatusContext(account, day or clock.today(), sources, with_past=with_past)
    costs = daily_costs(
        account, [context.cost_request(budget) for budget in budgets], sources, deadline=deadline
    )
    return [_figures(context, budget, costs[budget.pk]) for budget in budgets]


class _StatusContext:
    """The day of the question, and the days with data of each source."""

    def __init__(self, account: Account, day: date, sources: Sources, *, with_past: bool) -> None:
        self.account, self.day, self.with_past = account, day, with_past
        coverage = sources.coverage
        self._sources, self.names = sources, sources.names_by_id

        @cache
        def data_days(source_id: int | None) -> _DataDays:
            own_sources = coverage.sources if source_id is None else [source_id]
            return _DataDays(coverage.of_sources(own_sources, today=day), day)

        self.data_days: Callable[[int | None], _DataDays] = data_days

    def parts(self, scope_costs: ScopeCosts, data_days: _DataDays, currency: str) -> list[CostPart]:
        """Return a scope's cost by day, in one part per last complete day of the sources."""
        return [
            CostPart(
                self._end(end, data_days),
                costs.get(currency, {}),
                scope_costs.one_time.get(end, {}).get(currency, {}),
            )
            for end, costs in sorted(scope_costs.ends.items())
        ]

    def sources_with_cost(self, scope_costs: ScopeCosts) -> set[int]:
        """Return the sources of a scope's cost, and others with the same last complete day."""
        coverage = self._sources.coverage
        without_end = coverage.sources.keys() - coverage.last_complete_days.keys()
        return {
            source
            for place in scope_costs.ends
            for source in (coverage.ends[place][1] if place >= 0 else without_end)
        }

    def _end(self, place: int, data_days: _DataDays) -> date | None:
        """Return the last complete day of the sources at this index, as of the day of the question."""
        if place < 0:
            return None
        sources = self._sources.coverage.ends[place][1]
        return next(
            (
                data_days.coverage.last_complete_days[each]
                for each in sources
                if each in data_days.coverage.last_complete_days
            ),
            None,
        )

    def period(self, budget: Budget) -> DateRange:
        return period_of(budget.period, self.day, self.account.fiscal_start_month)

    def cost_request(self, budget: Budget) -> CostRequest:
        period = self.period(budget)
        first = min(period.start, self.day - timedelta(days=HISTORY_DAYS))
        if self.with_past:
            first = min(first, shift_period(budget.period, period, -PAST_PERIODS[budget.period]).start)
        # Today, lines of future days are known, such as a fee on the month's last day; on a past day they were not.
        last = period.end if self.day >= clock.today() else self.day
        return CostRequest(budget, DateRange(first, last))


class _DataDays:
    """The days that have data, for the account or for one source."""

    def __init__(self, coverage: Coverage, day: date) -> None:
        self.coverage = coverage
        self.through = coverage.complete_through_for_most
        self.since = coverage.complete_through
        self.days = complete_days(coverage, day)


def _figures(context: _StatusContext, budget: Budget, scope_costs: ScopeCosts) -> BudgetFigures:
    data_days = context.data_days(budget.cost_source_id)
    period, costs = context.period(budget), scope_costs.costs.get(budget.currency, {})
    so_far = DateRange(period.start, context.day)
    spent, spent_reason = _spent_so_far(scope_costs, data_days, costs, so_far)
    inside = {day: amount for day, amount in sorted(costs.items()) if period.start <= day <= period.end}
    parts = context.parts(scope_costs, data_days, budget.currency)
    projection, why_not = _project(context, data_days, period, costs, parts)
    amount, total = amount_of(budget, period), projection.total if projection else None
    forecast = total.mean if total else None
    inputs = _status_inputs(budget, amount, spent, forecast, period)
    crosses_on = _crossing_day(amount, inside, projection, context.day)
    not_final = _not_final(context, scope_costs, so_far, data_days, budget.currency)
    other_amounts = _other_amounts(scope_costs, budget, so_far)
    left_out = _amounts(scope_costs.left_out, so_far)
    missing = _missing_rates(scope_costs, budget, other_amounts)
    status = BudgetStatus(
        id=budget.pk,
        name=budget.name,
        scope=budget.scope,
        scope_name=scope_name(budget),
        period=budget.period,
        start_date=period.start,
        end_date=period.end,
        days_left=(period.end - context.day).days,
        amount=amount,
        currency=budget.currency,
        warning_percent=budget.warning_percent,
        spent=spent,
        spent_percent=_percent(spent, amount),
        spent_reason=spent_reason,
        forecast=forecast,
        forecast_low=total.lower if total else None,
        forecast_high=total.upper if total else None,
        forecast_percent=_percent(forecast, amount),
        forecast_reason=scope_costs.problem or why_not,
        status=status_of(inputs),
        status_reason=" ".join(
            [reason_of(inputs, crosses_on=crosses_on) + not_final, *_omissions([], left_out), *missing]
        ),
        crosses_on=crosses_on,
        data_through=data_days.since,
        other_currencies=other_amounts,
        left_out=left_out,
        past=_past_periods(context, budget, data_days.coverage, scope_costs),
        warnings=missing or _warnings(scope_costs, budget, data_days),
        not_final=incomplete_cost(parts, so_far),
    )
    return BudgetFigures(budget, status, inside, projection)


def _status_inputs(
    budget: Budget, amount: Decimal, spent: Decimal | None, forecast: Decimal | None, period: DateRange
) -> StatusInputs:
    return StatusInputs(
        amount=amount,
        currency=budget.currency,
        warning_percent=budget.warning_percent,
        spent=spent,
        forecast=forecast,
        ends_on=period.end,
    )


def _project(
    context: _StatusContext,
    data_days: _DataDays,
    period: DateRange,
    costs: Mapping[date, Decimal],
    parts: Sequence[CostPart],
) -> tuple[Projection | None, str]:
    """Return the expected cost of the period, or the reason why it cannot be forecast."""
    late = None
    if data_days.through and data_days.since:
        late = complete_late_days(parts, data_days.days, data_days.through, data_days.since, period)
    return project_period(
        costs,
        data_days.days,
        period,
        as_of=context.day,
        through=data_days.through,
        late=late,
        one_time=one_time_by_day(parts),
        country=context.account.holiday_country,
    )


def _not_final(
    context: _StatusContext, scope_costs: ScopeCosts, days: DateRange, data_days: _DataDays, currency: str
) -> str:
    """Return a sentence on the part of the spent amount on incomplete days; empty without any."""
    amount = incomplete_cost(context.parts(scope_costs, data_days, currency), days)
    if not amount:
        return ""
    with_cost = context.sources_with_cost(scope_costs)
    coverage = data_days.coverage
    which, since = incomplete_place(coverage, days, context.names, with_cost, coverage.stopped_sources(days))
    return f" {money(amount, currency)} of actual cost{which} is incomplete{since}."


def amount_of(budget: Budget, period: DateRange) -> Decimal:
    """Return the amount of one period. The budget's amounts must be loaded; an unsaved budget has only its own."""
    if budget._state.adding:
        return budget.amount
    own = (each.amount for each in budget.amounts.all() if each.starts_on == period.start)
    return next(own, budget.amount)


def _percent(part: Decimal | None, amount: Decimal) -> Decimal | None:
    share = ratio(part, amount) if part is not None else None
    return None if share is None else share.scaleb(2)


def _spent_so_far(
    scope_costs: ScopeCosts, data_days: _DataDays, costs: Mapping[date, Decimal], days: DateRange
) -> tuple[Decimal | None, str]:
    """Return the amount spent so far, or the reason why it is unknown: it is 0 only where days have data."""
    if scope_costs.problem:
        return None, scope_costs.problem
    if data_days.coverage.first_day is None:
        return None, "There is no cost data yet."
    has_lines = any(days.start <= day <= days.end for day in costs)
    if not has_lines and not data_days.coverage.has_data(days.start, days.end):
        return (
            None,
            (f"No cost data for {days.start} to {days.end} yet; data ends on {data_days.coverage.last_day}."),
        )
    return sum_of_days(costs, days), ""


def _amounts(costs: ByCurrency, days: DateRange) -> list[MoneyAmount]:
    sums = {name: sum_of_days(by_day, days) for name, by_day in sorted(costs.items())}
    return [MoneyAmount(amount=amount, currency=name) for name, amount in sums.items() if amount]


def _other_amounts(scope_costs: ScopeCosts, budget: Budget, days: DateRange) -> list[MoneyAmount]:
    return [each for each in _amounts(scope_costs.costs, days) if each.currency != budget.currency]


def omission_parts(other_currencies: Sequence[MoneyAmount], left_out: Sequence[MoneyAmount]) -> list[str]:
    """Return the cost that a budget does not count, with the reason: `190.00 EUR in other currencies`."""
    why = "without an exchange rate" if display_currency() else "in other currencies"
    return [
        f"{join_with_and([money(each.amount, each.currency) for each in amounts])} {which}"
        for amounts, which in ((other_currencies, why), (left_out, OUTSIDE_VIEW))
        if amounts
    ]


def _omissions(other_currencies: Sequence[MoneyAmount], left_out: Sequence[MoneyAmount]) -> list[str]:
    parts = omission_parts(other_currencies, left_out)
    return [f"Not counted: {join_with_and(parts)}."] if parts else []


def _missing_rates(
    scope_costs: ScopeCosts, budget: Budget, other_amounts: Sequence[MoneyAmount]
) -> list[str]:
    """Return warnings about cost that the amounts leave out for lack of an exchange rate to the budget's currency."""
    spent = {each.currency: each.amount for each in other_amounts}
    if warnings := missing_rate_warnings(spent, budget.currency):
        return warnings
    read = {name: exact_sum(costs.values()) for name, costs in scope_costs.costs.items()}
    return [
        f"The forecast is without earlier days. {warning}"
        for warning in missing_rate_warnings(read, budget.currency)
    ]


def _crossing_day(
    amount: Decimal, costs: Mapping[date, Decimal], projection: Projection | None, day: date
) -> date | None:
    """Return the day on which the period's cost reached the amount; else the day on which the forecast does."""
    total = Decimal(0)
    for each, cost in costs.items():
        if each > day:
            break
        total = exact_sum([total, cost])
        if total >= amount:
            return each
    return projection.reaches(amount) if projection else None


def _past_periods(
    context: _StatusContext, budget: Budget, coverage: Coverage, scope_costs: ScopeCosts
) -> list[PastPeriod]:
    """Return earlier periods, newest first, as far as their days were read and have data."""
    first = context.cost_request(budget).days.start
    periods, period = [], context.period(budget)
    for _ in range(PAST_PERIODS[budget.period]):
        period = shift_period(budget.period, period, -1)
        if period.start < first or coverage.first_day is None or period.end < coverage.first_day:
            break
        periods.append(_past_period(budget, period, coverage, scope_costs))
    return periods


def _past_period(
    budget: Budget, period: DateRange, coverage: Coverage, scope_costs: ScopeCosts
) -> PastPeriod:
    amount = amount_of(budget, period)
    spent = sum_of_days(scope_costs.costs.get(budget.currency, {}), period)
    other_currencies = _other_amounts(scope_costs, budget, period)
    left_out = _amounts(scope_costs.left_out, period)
    missing = period.days - coverage.days_with_data(period)
    has_data = missing < period.days
    return PastPeriod(
        start_date=period.start,
        end_date=period.end,
        amount=amount,
        currency=budget.currency,
        spent=spent if has_data else None,
        spent_percent=_percent(spent, amount) if has_data else None,
        exceeded=has_data and spent >= amount,
        reason=" ".join(
            [
                *([f"{missing} of {period.days} days have no data."] if missing else []),
                *_omissions(other_currencies, left_out),
            ]
        ),
        other_currencies=other_currencies,
        left_out=left_out,
    )


def _warnings(scope_costs: ScopeCosts, budget: Budget, data_days: _DataDays) -> list[str]:
    if scope_costs.problem or budget.currency in scope_costs.costs or data_days.coverage.first_day is None:
        return []
    other_currencies = sorted(scope_costs.costs)
    name = scope_name(budget)
    if other_currencies:
        return [
            (
                f"{name} has no cost in {budget.currency}, only in {', '.join(other_currencies)}, which is not counted."
            )
        ]
    return [f"{name} has no cost in the period."]

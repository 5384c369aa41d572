"""The past cost of a scope, for choosing a budget's amount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from accounts.models import Account
from finops.budgets.cycles import MONTHS, period_of, shift_period
from finops.budgets.models import Budget
from finops.budgets.queries.actual_costs import CostRequest, daily_costs, sum_of_days
from finops.costs.queries.sources import load_sources
from finops.lib import clock
from finops.lib.money import exact_sum, ratio
from finops.lib.periods import DateRange


def suggested_amount(spent: Sequence[Decimal]) -> Decimal | None:
    """Return the mean spend of earlier periods, rounded up to two significant digits: 263,120 → 270,000; None without
    periods. Our rule."""
    mean = ratio(exact_sum(spent), Decimal(len(spent)))
    if mean is None or mean <= 0:
        return None
    step = Decimal(1).scaleb(max(mean.adjusted() - 1, -2))
    rounded = (mean / step).to_integral_value(ROUND_CEILING) * step
    return rounded.quantize(Decimal("0.01"))


PERIODS_CONSIDERED = {"monthly": 3, "quarterly": 2, "yearly": 1}


@dataclass(frozen=True)
class EarlierPeriod:
    """An earlier period and what its scope cost in the currency. `whole`: every day has data."""

    days: DateRange
    spent: Decimal
    currency: str
    whole: bool


@dataclass(frozen=True)
class BudgetSuggestion:
    """The scope's currencies, the one with most cost first; earlier periods in `currency`; a round amount, if any;
    and the cost basis of budgets."""

    currencies: list[str]
    currency: str
    earlier: list[EarlierPeriod]
    amount: Decimal | None
    basis: str


def suggestion(
    account: Account, budget: Budget, *, currency: str = "", deadline: float | None = None
) -> BudgetSuggestion:
    """Return the last periods of a budget's scope, saved or not. One lake query. Raises UserError of the lake."""
    sources = load_sources(account).for_planning
    kind = budget.period if budget.period in MONTHS else Budget.Period.MONTHLY.value
    now = period_of(kind, clock.today(), account.fiscal_start_month)
    periods = [shift_period(kind, now, -back) for back in range(1, PERIODS_CONSIDERED[kind] + 1)]
    request = CostRequest(budget, DateRange(periods[-1].start, now.end))
    costs = daily_costs(account, [request], sources, deadline=deadline)[budget.pk].costs
    ordered = sorted(costs, key=lambda name: (-exact_sum(costs[name].values()), name))
    chosen_currency = currency or (ordered[0] if ordered else "")
    earlier = [
        EarlierPeriod(
            days=days,
            spent=sum_of_days(costs.get(chosen_currency, {}), days),
            currency=chosen_currency,
            whole=sources.coverage.days_with_data(days) == days.days,
        )
        for days in periods
        if chosen_currency and sources.coverage.has_data(days.start, days.end)
    ]
    whole = [each.spent for each in earlier if each.whole]
    return BudgetSuggestion(ordered, chosen_currency, earlier, suggested_amount(whole), sources.view.basis)

"""The thresholds that a budget has reached, and their messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Any, Final

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.anomaly import LATE_DAYS, NEWS_DAYS
from finops.alerts.triggers.figures import amount, amount_with_share, share
from finops.budgets.schemas import OUTSIDE_VIEW, BudgetStatus, PastPeriod
from finops.exchange_rates.missing_rates import missing_rate_clause
from finops.lake.engine.conversion import display_currency
from finops.lib import sentences
from finops.lib.drawings.chart import ColumnChart, DrawnSeries, to_values
from finops.lib.formats import dates, numbers
from finops.lib.formats.sentences import reader_text
from finops.lib.periods import DateRange

Measure = AlertSubscription.Measure

_EXACT: Final = Context(prec=80)
"""A context for amounts of up to 38 digits; Python's default context would round products to 28."""


@dataclass(frozen=True)
class Crossing:
    """The thresholds that a budget's figure has reached in one of its periods, in ascending order."""

    status: BudgetStatus
    days: DateRange
    measure: str
    amount: Decimal
    figure: Decimal
    thresholds: tuple[int, ...]

    @property
    def highest(self) -> int:
        return self.thresholds[-1]

    @property
    def is_over(self) -> bool:
        """Whether the period is over. Then the figure is its actual cost, for both measures."""
        return self.days.end < self.status.start_date

    @property
    def period_figures(self) -> BudgetStatus | PastPeriod:
        """The figures of the current period, or of the one that is over."""
        return self.status.past[0] if self.is_over else self.status

    @property
    def keys(self) -> tuple[str, ...]:
        """One key for each budget, period, measure and threshold. A changed amount does not fire again."""
        kind, start = self.status.period, self.days.start
        return tuple(key_of(self.status.id, kind, start, self.measure, each) for each in self.thresholds)


def key_of(budget_id: int, kind: str, start: date, measure: str, threshold: int) -> str:
    """Return the key of a threshold in the period of a kind (`monthly`) that starts on `start`."""
    return f"budget:{budget_id}:{kind}:{start}:{measure}:{threshold}"


def reached_thresholds(thresholds: Sequence[int], figure: Decimal, amount: Decimal) -> tuple[int, ...]:
    """Return the thresholds that are reached, ascending: figure ≥ threshold percent of the amount, exactly."""
    hundredfold = _EXACT.multiply(figure, Decimal(100))
    return tuple(each for each in sorted(thresholds) if hundredfold >= _EXACT.multiply(amount, Decimal(each)))


def crossings(
    thresholds: Sequence[int], measure: str, since: date, status: BudgetStatus, today: date
) -> list[Crossing]:
    """Return the thresholds reached in the current period, and in the previous one while its bill is incomplete.

    Cost arrives days late, so the last days of a period become known in the next. The previous period counts until
    data is complete to three days after its end, unless the subscription (`since`) or today is too late for it.
    """
    return [
        Crossing(status, days, measure, amount, figure, passed_thresholds)
        for days, amount, figure in [*_before(since, status, today), *_now(measure, status)]
        if (passed_thresholds := reached_thresholds(thresholds, figure, amount))
    ]


Figures = list[tuple[DateRange, Decimal, Decimal]]


def _now(measure: str, status: BudgetStatus) -> Figures:
    """Return the current period's figure. Without a forecast, the amount spent is used."""
    figure = status.spent
    if measure == Measure.FORECAST and status.forecast is not None:
        figure = status.forecast
    days = DateRange(status.start_date, status.end_date)
    return [] if figure is None else [(days, status.amount, figure)]


def _before(since: date, status: BudgetStatus, today: date) -> Figures:
    past = status.past[0] if status.past else None
    if past is None or past.spent is None or status.data_through is None:
        return []
    is_news = status.data_through <= past.end_date + timedelta(days=NEWS_DAYS)
    if not is_news or today > past.end_date + timedelta(days=LATE_DAYS) or since > past.end_date:
        return []
    return [(DateRange(past.start_date, past.end_date), past.amount, past.spent)]


def budget_message(account: Account, crossing: Crossing) -> Message:
    status = crossing.status
    spent = crossing.figure if crossing.is_over else status.spent
    # Critical, because the amount is already spent.
    is_spent = crossing.highest >= 100 and spent is not None and spent >= crossing.amount
    return Message(
        title=f"{sentences.quote(account.name)}: budget {sentences.quote(status.name)} {_what(crossing)}",
        summary=" ".join(_sentences(crossing)),
        facts=tuple(_facts(account, crossing)),
        url=console_url(account, "budget", budget_id=status.id),
        severity="critical" if is_spent else "warning",
        kind="budget",
        dedup_key=f"account-{account.pk}:budget-{status.id}:{crossing.days.start}",
        data=_data(crossing),
        chart=_chart(crossing.status),
    )


def _chart(status: BudgetStatus) -> ColumnChart | None:
    """Return the chart of spend by period with the current amount; the current period has its remaining forecast."""
    if status.spent is None:
        return None
    past = sorted(status.past, key=lambda each: each.start_date)
    remaining_forecast = max(Decimal(0), (status.forecast or Decimal(0)) - status.spent)
    forecasts: list[Decimal | None] = [*(None for _ in past), remaining_forecast or None]
    forecast = DrawnSeries(name="Remaining forecast", values=to_values(forecasts), tone="forecast")
    spent = DrawnSeries(name="Spent", values=to_values([*(each.spent for each in past), status.spent]))
    length = 7 if status.period == "monthly" else 10
    return ColumnChart(
        title=f"Spend by period in {status.currency}",
        currency=status.currency,
        labels=[f"{day}"[:length] for day in [*(each.start_date for each in past), status.start_date]],
        series=[spent, forecast] if remaining_forecast else [spent],
        limit=float(status.amount),
        limit_name="Budget",
    )


def _is_forecast(crossing: Crossing) -> bool:
    has_forecast = crossing.status.forecast is not None and not crossing.is_over
    return crossing.measure == Measure.FORECAST and has_forecast


def _what(crossing: Crossing) -> str:
    percent = share(crossing.figure, crossing.amount)
    if crossing.is_over:
        end, through = crossing.days.end, crossing.status.data_through
        is_complete = through is not None and through >= end
        return (
            f"ended on {dates.day(end)} at {percent}"
            if is_complete
            else f"reached {percent} by {dates.day(end)}"
        )
    return f"is forecast to end at {percent}" if _is_forecast(crossing) else f"is at {percent}"


def _sentences(crossing: Crossing) -> list[str]:
    status, days = crossing.status, crossing.days
    figure = numbers.money(crossing.figure, status.currency)
    of = f"of {numbers.money(crossing.amount, status.currency)}"
    threshold = f"at or above the threshold of {crossing.highest}%"
    left_out = _left_out_clause(crossing.period_figures)
    if crossing.is_over:
        through = status.data_through or days.end
        so_far = f", with data through {dates.day(through)}" if through < days.end else ""
        return [
            f"{dates.day_range(days.start, days.end)}: {figure} {of} spent{so_far}{left_out}, {threshold}."
        ]
    incomplete = numbers.money(status.not_final, status.currency) if status.not_final else ""
    of_it = f", {incomplete} of it on incomplete days" if incomplete else ""
    if not _is_forecast(crossing):
        spent = f"{figure} {of} spent since {dates.day(days.start)}{of_it}{left_out}, {threshold}."
        if status.forecast is None:
            return [spent]
        forecast = numbers.money(status.forecast, status.currency)
        return [spent, f"The forecast for {dates.day(days.end)} is {forecast}."]
    texts = [f"The forecast for {dates.day(days.end)} is {figure} {of}{left_out}, {threshold}."]
    if status.spent is not None:
        texts.append(f"Spent so far: {numbers.money(status.spent, status.currency)}{of_it}.")
    return texts


def _left_out_clause(status: BudgetStatus | PastPeriod) -> str:
    """Return a clause on cost that is left out: without an exchange rate, or in other currencies if not converted, and
    of charge categories outside the cost view."""
    other_amounts = {each.currency: each.amount for each in status.other_currencies}
    clause = reader_text(missing_rate_clause(other_amounts, status.currency)) if display_currency() else ""
    unconverted = [] if display_currency() else status.other_currencies
    for amounts, which in ((unconverted, "in other currencies"), (status.left_out, OUTSIDE_VIEW)):
        texts = [numbers.money(each.amount, each.currency) for each in amounts]
        clause += f", without {sentences.join_with_and(texts)} {which}" if texts else ""
    return clause


def _facts(account: Account, crossing: Crossing) -> list[Fact]:
    status, days, currency = crossing.status, crossing.days, crossing.status.currency
    spent = crossing.figure if crossing.is_over else status.spent
    facts = [
        Fact("Account", account.name),
        Fact("Threshold", f"{crossing.highest}% of the amount"),
        Fact("Amount", numbers.money(crossing.amount, currency)),
        Fact(
            "Spent",
            amount_with_share(spent, crossing.amount, currency) if spent is not None else "unknown",
        ),
    ]
    if status.forecast is not None and not crossing.is_over:
        facts.append(Fact("Forecast", amount_with_share(status.forecast, crossing.amount, currency)))
    facts += [Fact("Period", dates.day_range(days.start, days.end)), Fact("Scope", status.scope_name)]
    if other_amounts := crossing.period_figures.other_currencies:
        amounts = [numbers.money(each.amount, each.currency) for each in other_amounts]
        facts.append(Fact("Not counted", sentences.join_with_and(amounts)))
    if status.data_through is not None:
        facts.append(Fact("Data through", dates.day(status.data_through)))
    return facts


def _data(crossing: Crossing) -> dict[str, Any]:
    status, currency = crossing.status, crossing.status.currency
    figures = crossing.period_figures
    forecast = None if crossing.is_over else status.forecast
    return {
        "budget_id": status.id,
        "budget": status.name,
        "period": {"start_date": str(crossing.days.start), "end_date": str(crossing.days.end)},
        "measure": crossing.measure,
        "threshold_percent": crossing.highest,
        "amount": amount(crossing.amount, currency),
        "spent": amount(crossing.figure if crossing.is_over else status.spent, currency),
        "forecast": amount(forecast, currency),
        "not_counted": [
            amount(each.amount, each.currency) for each in (*figures.other_currencies, *figures.left_out)
        ],
        "data_through": str(status.data_through) if status.data_through else None,
    }

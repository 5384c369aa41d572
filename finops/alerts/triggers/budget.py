"""Which thresholds of a budget are reached, and what is said of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Final

from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.anomaly import LATE_DAYS, NEWS_DAYS
from finops.budgets.answers import BudgetStatus
from finops.lib.periods import DateRange

Measure = AlertSubscription.Measure

_EXACT: Final = Context(prec=80)
"""An amount has up to 38 digits; Python's own context would round products to 28."""


@dataclass(frozen=True)
class Crossing:
    """Thresholds that a budget's figure has reached in one of its periods, rising."""

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
        """Whether the period is over: then the figure is its cost, whatever the measure."""
        return self.days.end < self.status.start_date

    @property
    def keys(self) -> tuple[str, ...]:
        """One firing for each budget, period, measure and threshold; the amount may change without another."""
        kind, start = self.status.period, self.days.start
        return tuple(key_of(self.status.id, kind, start, self.measure, each) for each in self.thresholds)


def key_of(budget_id: int, kind: str, start: date, measure: str, threshold: int) -> str:
    """Of a threshold in the period of a kind (`monthly`) that begins on `start`."""
    return f"budget:{budget_id}:{kind}:{start}:{measure}:{threshold}"


def thresholds_reached(thresholds: Sequence[int], figure: Decimal, amount: Decimal) -> tuple[int, ...]:
    """Those at or below the figure, rising: figure ≥ threshold percent of the amount, exactly."""
    hundredfold = _EXACT.multiply(figure, Decimal(100))
    return tuple(each for each in sorted(thresholds) if hundredfold >= _EXACT.multiply(amount, Decimal(each)))


def crossings(
    thresholds: Sequence[int], measure: str, since: date, status: BudgetStatus, today: date
) -> list[Crossing]:
    """What is reached in the period before, while its bill is still coming in, and in the current one.

    Cost arrives days after it is made, so the last days of a period are known in the next. The period before is looked
    at until data is complete to three days after its end, unless the subscription (`since`) or today is too late for it.
    """
    return [
        Crossing(status, days, measure, amount, figure, passed_thresholds)
        for days, amount, figure in [*_before(since, status, today), *_now(measure, status)]
        if (passed_thresholds := thresholds_reached(thresholds, figure, amount))
    ]


Figures = list[tuple[DateRange, Decimal, Decimal]]


def _now(measure: str, status: BudgetStatus) -> Figures:
    """Where there is no forecast, a period costs at least what is spent."""
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

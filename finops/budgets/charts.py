"""Charts of the pages of a budget: the burn-up of its period, and the periods before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from finops.budgets.models import Budget
from finops.budgets.queries import BudgetFigures
from finops.budgets.schemas import BudgetStatus, PastPeriod
from finops.budgets.scopes import filters_of
from finops.lib.chart_markers import Marker, MarkerQuestion, marked_chart, markers_between, markers_of
from finops.lib.charts import BandLine, Line, chart_spec
from finops.lib.money import exact_sum, ratio
from finops.lib.periods import DateRange

SPENT, FORECAST, PACE, AMOUNT = "Spent", "Forecast", "Even pace", "Budget"
BAND: Final = "80% range"


@dataclass(frozen=True)
class BurnDay:
    """A day of the period: its cost, the cost and the forecast up to it, and the even pace."""

    day: date
    cost: Decimal | None
    spent: Decimal | None
    forecast: Decimal | None
    lower: Decimal | None
    upper: Decimal | None
    pace: Decimal | None


@dataclass(frozen=True)
class BurnUp:
    """The chart of a period and the figures that it draws."""

    days: list[BurnDay]
    chart: dict[str, Any]


def burn_up(figures: BudgetFigures, as_of: date) -> BurnUp:
    """Return the cost of the period accumulated by day, compared with an even spread of the amount."""
    days = _days(figures, as_of)
    labels = [each.day.isoformat() for each in days]
    status = figures.status
    lines = [Line(SPENT, [each.spent for each in days])]
    if figures.projection:
        lines.append(Line(FORECAST, [each.forecast for each in days], dashed=True, tone="like_first"))
    lines += [
        Line(PACE, [each.pace for each in days], rest=True, dashed=True),
        Line(AMOUNT, [status.amount] * len(days), tone="limit"),
    ]
    chart = chart_spec(
        unit=status.currency,
        labels=labels,
        lines=lines,
        line=True,
        stacked=False,
        band=BandLine(BAND, [each.lower for each in days], [each.upper for each in days])
        if figures.projection
        else None,
        mark=status.crosses_on.isoformat() if status.crosses_on else "",
    )
    return BurnUp(days, chart)


def _days(figures: BudgetFigures, as_of: date) -> list[BurnDay]:
    """Return the days of the period. `pace` is amount · days so far ÷ days: the straight line of an evenly spent
    budget."""
    status = figures.status
    count = (status.end_date - status.start_date).days + 1
    points = {point.day: point.band for point in figures.projection.points()} if figures.projection else {}
    known_to = max([*(day for day in figures.costs if day <= as_of), status.data_through or date.min])
    result, total = [], Decimal(0)
    for index in range(count):
        day = status.start_date + timedelta(days=index)
        is_known = day <= min(known_to, as_of) and status.spent is not None
        cost = figures.costs.get(day, Decimal(0)) if is_known else None
        total = exact_sum([total, cost or Decimal(0)])
        band = points.get(day)
        # The line of the forecast begins where the last complete day ends.
        joins = band is None and is_known and day + timedelta(days=1) in points
        result.append(
            BurnDay(
                day=day,
                cost=cost,
                spent=total if is_known else None,
                forecast=band.mean if band else total if joins else None,
                lower=band.lower if band else total if joins else None,
                upper=band.upper if band else total if joins else None,
                pace=ratio(exact_sum([status.amount] * (index + 1)), Decimal(count)),
            )
        )
    return result


def history_chart(past: Sequence[PastPeriod], status: BudgetStatus) -> dict[str, Any]:
    """Return bars of the spend of earlier periods and the current one so far, with their amounts; oldest first."""
    ordered = list(reversed(past))
    return chart_spec(
        unit=status.currency,
        labels=[each.start_date.isoformat()[:7] for each in ordered] + [status.start_date.isoformat()[:7]],
        lines=[
            Line(SPENT, [each.spent for each in ordered] + [status.spent]),
            Line(AMOUNT, [each.amount for each in ordered] + [status.amount], rest=True),
        ],
        line=False,
        stacked=False,
    )


@dataclass(frozen=True)
class BudgetCharts:
    """The charts of a budget's page, and the events on each as lists. `history` is None without earlier periods."""

    burn: BurnUp
    burn_markers: list[Marker]
    history: dict[str, Any] | None
    history_markers: list[Marker]


def budget_charts(budget: Budget, figures: BudgetFigures, as_of: date) -> BudgetCharts:
    """Return the charts with the change events that match their days and the budget's scope. One query."""
    status = figures.status
    first = min([status.start_date, *(each.start_date for each in status.past)])
    markers = markers_of(MarkerQuestion(DateRange(first, status.end_date), filters_of(budget)))
    of_period = markers_between(markers, DateRange(status.start_date, status.end_date))
    burn = burn_up(figures, as_of)
    history = history_chart(status.past, status) if status.past else None
    return BudgetCharts(
        burn=dataclasses.replace(burn, chart=marked_chart(burn.chart, of_period)),
        burn_markers=of_period,
        history=marked_chart(history, markers) if history else None,
        history_markers=markers,
    )


@dataclass(frozen=True)
class Bar:
    """A budget's progress as a bar with a width of 100; positions are None where the value is unknown."""

    spent: float
    forecast: float | None
    low: float | None
    high: float | None
    amount: float

    @property
    def band(self) -> float:
        """The width of the forecast's band."""
        return round(self.high - self.low, 2) if self.low is not None and self.high is not None else 0.0


def bar_of(status: BudgetStatus) -> Bar:
    """Return the bar. Its full width is the amount, or the spend or forecast where that is larger."""
    most = max(
        [status.amount, *(each for each in (status.spent, status.forecast, status.forecast_high) if each)]
    )

    def place(value: Decimal | None) -> float | None:
        share = ratio(max(value, Decimal(0)), most) if value is not None else None
        return None if share is None else round(float(share) * 100, 2)

    return Bar(
        spent=place(status.spent) or 0.0,
        forecast=place(status.forecast),
        low=place(status.forecast_low),
        high=place(status.forecast_high),
        amount=place(status.amount) or 100.0,
    )

"""Forecasts of daily amounts. Pure: no Django, no lake; all amounts are in one currency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache

from finops.lib.forecasting.backtest import Accuracy, Trials, accuracy_of, run_trials, spread_of
from finops.lib.forecasting.model import Day, FittedModel, Kind, day_of, fit_model
from finops.lib.forecasting.result import Band, DayForecast, Forecast, Unforecastable, amount_of
from finops.lib.periods import DateRange

__all__ = [
    "HISTORY_DAYS",
    "MIN_DAYS",
    "MODEL",
    "SMOOTH",
    "TRENDING",
    "Accuracy",
    "Band",
    "DayForecast",
    "Forecast",
    "Unforecastable",
    "forecast",
]

MIN_DAYS = 14
"""With fewer days of data a weekly pattern cannot be told from chance."""

HISTORY_DAYS = 400
"""Days before the last day of a history that are used; older days are ignored."""

MODEL = "level, trend, weekdays and days of the month"
SMOOTH = "level of the last eight weeks, trend, weekdays and days of the month"
TRENDING = "level, trend of the last eight weeks, weekdays and days of the month"
_NAMES: dict[Kind, str] = {"plain": MODEL, "smooth": SMOOTH, "trending": TRENDING}


def forecast(
    history: Mapping[date, Decimal | float], horizon: DateRange, *, level: float = 0.8, country: str = ""
) -> Forecast | Unforecastable:
    """Forecast the cost of the days of `horizon` from the days of `history`; or return why there is no forecast.

    `history` has complete days only: a day of it that is missing is a gap, a day without cost is 0. `horizon` begins after
    its last day, at once or later. `level` is the share of cases that a band should hold. The same history gives the same
    forecast. `country` (ISO 3166): its public holidays count as Sundays, where the series shows that. Raises ValueError for
    a horizon that begins inside the history. Cost: 6 ms for a year of days, next to nothing for a history that this process
    has used lately.

    The model is our own, of parts that have names; `model.py` and `backtest.py` give their sources, docs/adr/0026 says
    why no library.
    """
    last = max(history, default=horizon.start - timedelta(days=1))
    if horizon.start <= last:
        raise ValueError(f"The horizon begins on {horizon.start}, inside the history to {last}.")
    recent = {day: amount for day, amount in history.items() if (last - day).days < HISTORY_DAYS}
    if len(recent) < MIN_DAYS:
        count = f"{len(recent)} day{'' if len(recent) == 1 else 's'}"
        return Unforecastable(
            f"A forecast needs at least {MIN_DAYS} days with data; the history has {count}."
        )
    first = min(recent)
    amounts = (recent.get(first + timedelta(days=index)) for index in range((last - first).days + 1))
    values = tuple(None if amount is None else float(amount) for amount in amounts)
    trained = _train(first, values, country)
    days, lead = _days(horizon.start, horizon.days, country), (horizon.start - last).days
    means = trained.model.means(days, lead, kind=trained.trials.kind)
    return Forecast(
        horizon=horizon,
        history=DateRange(first, last),
        level=level,
        model=_NAMES[trained.trials.kind],
        means=tuple(amount_of(mean) for mean in means),
        spread=spread_of(trained.model, trained.trials.forecasts, level, history_days=len(values)),
        accuracy=accuracy_of(trained.trials.forecasts, horizon.days),
    )


@dataclass(frozen=True)
class _TrainedModel:
    model: FittedModel
    trials: Trials


@lru_cache(maxsize=256)
def _train(first: date, values: tuple[float | None, ...], country: str) -> _TrainedModel:
    """Train the models. Cached by the days themselves, so never stale; about 40 KB each."""
    days = _days(first, len(values), country)
    return _TrainedModel(fit_model(values, days), run_trials(values, days))


def _days(first: date, count: int, country: str) -> list[Day]:
    return [day_of(first + timedelta(days=index), country) for index in range(count)]
